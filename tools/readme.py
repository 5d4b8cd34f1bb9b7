"""README.md from nbs/index.ipynb: `python tools/readme.py [--check]`."""

import base64
import re
import sys

import nbformat
from book import NBS, PAPERS_PLACE, PLACE, ROOT, papers, table


PICTURE = "nbs/images/first.png"


def picture():
    "The first picture of the landing page, as its notebook saved it."
    for c in nbformat.read(NBS / "index.ipynb", 4).cells:
        if re.search(r"^#\|\s*label: first-picture", c.source, re.M):
            return base64.b64decode(c.outputs[0].data["image/png"])
    return b""


def render():
    """The landing page as plain markdown: prose, code, printed results and the chapter
    table."""
    parts = []
    for c in nbformat.read(NBS / "index.ipynb", 4).cells:
        text = c.source.strip()
        if text.startswith("<!-- site only -->"):
            continue
        if c.cell_type == "markdown":
            listing = table(lambda c: f"nbs/{c.path}")
            folded = "<details><summary>every page of the book</summary>\n\n"
            text = text.replace(PLACE, f"{folded}{listing}\n\n</details>")
            text = text.replace(PAPERS_PLACE, papers(lambda c: f"nbs/{c.path}"))
            text = re.sub(
                r"\]\((?!https?:|#|nbs/)([\w./-]+\.(?:ipynb|png))", r"](nbs/\1", text
            )
            parts.append(text)
        elif re.search(r"^#\|\s*label: first-picture", text, re.M):
            alt = re.search(r'^#\|\s*fig-alt: "(.+)"', text, re.M)[1]
            parts.append(f"![{alt}]({PICTURE})")
        elif re.search(r"^#\|\s*echo: false", text, re.M):
            made = [o.data.get("text/markdown", "") for o in c.outputs if "data" in o]
            parts += ["".join(m) for m in made if m]
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
    image = ROOT / PICTURE
    if "--check" in sys.argv:
        fresh = readme.exists() and readme.read_text() == text
        if not fresh or not image.exists() or image.read_bytes() != picture():
            sys.exit("README.md is stale: run `make readme`.")
    else:
        readme.write_text(text)
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(picture())
