"""The typography gate: what a reader would trip over on each page, against what is allowed
and why.

`python tools/typography.py` prints the pages that exceed STYLE.md's shape; `--update`
lowers the allowances in
`tests/typography.toml` to what is measured (it never raises one: that is done by hand, with
a reason).
"""

import re
import sys
import tomllib

import nbformat
from book import NBS, ROOT, number, visible_lines

ALLOWED = ROOT / "tests" / "typography.toml"
LESSONS = re.compile(r"(1[0-8]|4[0-3])[a-z]?$")  # pages that keep the shape of a chapter
GOALS = {
    "long_lines": 0,  # lines of code over 92 characters
    "bare_numbers": 0,  # outputs that show np.float64(…)
    "raw_dicts": 0,  # results that are printed as a dictionary
    "stubs": 0,  # definitions whose body is three dots or `pass`
    "no_alt": 0,  # pictures without an alternative text
    "no_caption": 0,  # pictures without a caption
    "visible": 400,  # lines of code that nobody has folded
    "gap": 15,  # cells in a row without a picture
    "unsolved": 0,  # exercises without mark, hint, starter cell or folded solution
    "thin": 0,  # tenths of a word a line short of eight words for each visible line of code
}


def plain(output):
    "The text of a result as it is shown when nothing better is there."
    data = output.get("data", {})
    return (
        "" if "text/html" in data or "text/markdown" in data else data.get("text/plain", "")
    )


def picture(cell):
    return any(
        "image/png" in o.get("data", {})
        or re.search(r'<img|class="csc-live"', o.get("data", {}).get("text/html", ""))
        for o in cell.get("outputs", [])
    )


def static_picture(cell):
    return any("image/png" in o.get("data", {}) for o in cell.get("outputs", []))


def captioned(cell, cells):
    "Has the picture a caption: its own, or a paragraph *Figure n.* right below?"
    if re.search(r"^#\|\s*fig-cap:", cell.source, re.M):
        return True
    at = next(i for i, c in enumerate(cells) if c is cell)
    below = (c for c in cells[at + 1 : at + 4] if c.cell_type == "markdown")
    return next(below, cell).source.lstrip().startswith("*Figure")


STUB = re.compile(r"^(def|class) \w+(\(\*args, \*\*kwargs\))?:\s*(\.\.\.|pass)\s*$", re.M)


def longest_gap(cells):
    seen = [i for i, c in enumerate(cells) if c.cell_type == "code" and picture(c)]
    return max(b - a for a, b in zip([0, *seen], [*seen, len(cells)]))


def exercises(prose):
    "How many exercises a page sets, and how many of them it solves."
    parts = re.split(r"^#+\s*Exercises", prose, flags=re.M)
    if len(parts) < 2:
        return 0, 0
    return len(re.findall(r"^\d+\.", parts[1], re.M)), len(
        re.findall(r"[Ss]olution", prose)
    )


SOLVED = re.compile(r'^#\|\s*code-summary:\s*"?Solution|^<details><summary>Solution', re.M)


def exercise_faults(cells):
    "What each exercise of a page lacks: mark, hint, starter, solution. One sentence each."
    sources = [c.source for c in cells]
    heads = [i for i, s in enumerate(sources) if re.search(r"^## Exercises", s, re.M)]
    if not heads:
        return []
    had, now = {}, None
    for c in cells[heads[0] :]:
        if c.cell_type == "code":
            if now:
                folded = re.search(r"^#\|\s*code-fold:\s*true", c.source, re.M)
                had[now] |= {"solution" if SOLVED.search(c.source) else "starter"} - (
                    {"starter"} if folded else set()
                )
            continue
        text = re.split(r"^## Exercises[^\n]*\n", c.source, flags=re.M)[-1]
        text, *over = re.split(r"^## ", text, maxsplit=1, flags=re.M)
        for piece in re.split(r"^(?=\d+\. )", text, flags=re.M):
            if begins := re.match(r"(\d+)\. +(●*)", piece):
                now = int(begins[1])
                had[now] = {"mark"} if begins[2] else set()
            if now and re.search(r"\*Hint\.?\*|[Hh]int", piece):
                had[now].add("hint")
            if now and (SOLVED.search(piece) or "No solution is known" in piece):
                had[now] |= {"solution", "starter"} if "No sol" in piece else {"solution"}
        if over:
            break
    wanted = ("mark", "hint", "starter", "solution")
    return [f"{n}: no {w}" for n, own in had.items() for w in wanted if w not in own]


def measure(path):
    "What a reader would trip over on one page."
    nb = nbformat.read(path, 4)
    cells = [c for c in nb.cells if c.source.strip()]
    code = [c for c in cells if c.cell_type == "code"]
    prose = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    lines = [l for c in code for l in c.source.split("\n") if not l.startswith("#|")]
    outputs = [o for c in code for o in c.get("outputs", [])]
    pictures = [c for c in code if static_picture(c)]
    found = {
        "long_lines": sum(len(l) > 92 and "fmt: skip" not in l for l in lines),
        "bare_numbers": sum("np.float64(" in plain(o) for o in outputs),
        "raw_dicts": sum(bool(re.match(r"\{'\w+': ", plain(o))) for o in outputs),
        "stubs": sum(bool(STUB.search(c.source)) for c in code),
        "no_alt": sum("fig-alt:" not in c.source for c in pictures),
        "no_caption": sum(not captioned(c, cells) for c in pictures),
        "unsolved": len(exercise_faults(cells)),
    }
    if LESSONS.fullmatch(number(path)) and path.parent == NBS:
        visible = visible_lines(nb)
        words = len(re.sub(r"\$[^$]*\$|\|[-:| ]+\|", " ", prose).split())
        found |= {
            "visible": visible,
            "gap": longest_gap(cells),
            "thin": max(0, round(80 - 10 * words / max(visible, 1))),
        }
    return found


def pages():
    hidden = (".", "_")
    found = (p for p in NBS.rglob("*.ipynb") if not p.name.startswith(hidden))
    return sorted(p for p in found if ".ipynb_checkpoints" not in p.parts)


def name(path):
    return str(path.relative_to(NBS).with_suffix(""))


def allowances():
    return tomllib.loads(ALLOWED.read_text(encoding="utf-8")) if ALLOWED.exists() else {}


def excess(path, allowed):
    "What one page has more of than its allowance."
    own = allowed.get(name(path), {})
    found = measure(path)
    return {
        k: (n, own.get(k, GOALS[k])) for k, n in found.items() if n > own.get(k, GOALS[k])
    }


def update():
    "Write what is measured where it is above the goal, never more than was allowed before."
    old, text = (
        allowances(),
        [
            "# What each page may still exceed. Lower by `--update`; raise by hand only, "
            "and say why.\n"
        ],
    )
    for path in pages():
        own = old.get(name(path))
        over = {k: n for k, n in measure(path).items() if n > GOALS[k]}
        if own is not None:
            over = {k: min(n, own[k]) for k, n in over.items() if k in own}
        if over:
            reason = (own or {}).get("reason", "not yet rewritten to the shape of STYLE.md")
            rows = [f'reason = "{reason}"', *(f"{k} = {n}" for k, n in over.items())]
            text.append(f'["{name(path)}"]\n' + "\n".join(rows) + "\n")
    ALLOWED.write_text("\n".join(text), encoding="utf-8")


def main():
    if "--update" in sys.argv:
        update()
    allowed = allowances()
    for path in pages():
        for what, (n, limit) in excess(path, allowed).items():
            print(f"{name(path):30} {what:12} {n:5} (allowed {limit})")


if __name__ == "__main__":
    main()
