"""README.md from nbs/index.ipynb: `python tools/readme.py` writes it, `--check` fails when it is stale."""

import re, sys

import nbformat
from book import NBS, PLACE, ROOT, table


def render():
    "The landing page as plain markdown: prose, code, printed results and the chapter table."
    parts = []
    for c in nbformat.read(NBS / "index.ipynb", 4).cells:
        text = c.source.strip()
        if c.cell_type == "markdown":
            text = text.replace(PLACE, table(lambda c: f"nbs/{c.path}"))
            text = re.sub(
                r"\]\((?!https?:|#|nbs/)([\w./-]+\.(?:ipynb|png))", r"](nbs/\1", text
            )
            parts.append(text)
        elif c.cell_type == "code" and not re.search(
            r"^#\|\s*(hide|default_exp|echo: false)", text, re.M
        ):
            parts.append(f"```python\n{text}\n```")
            parts += [
                f"```\n{o['text'].strip()}\n```"
                for o in c.outputs
                if o.output_type == "stream" and o.name == "stdout"
            ]
            parts += [
                f"```\n{o.data['text/plain'].strip()}\n```"
                for o in c.outputs
                if o.output_type == "execute_result" and set(o.data) == {"text/plain"}
            ]
    return (
        "<!-- Made from nbs/index.ipynb by tools/readme.py; edit the notebook. -->\n"
        + "\n\n".join(parts)
        + "\n"
    )


if __name__ == "__main__":
    readme, text = ROOT / "README.md", render()
    if "--check" in sys.argv:
        if not readme.exists() or readme.read_text() != text:
            sys.exit("README.md is stale: run `make readme`.")
    else:
        readme.write_text(text)
