"""The reference: one page for each public name, made from its docstring; linked from and to its chapter."""

import importlib
import inspect
import re

TITLES = ("Parameters", "Attributes", "Returns", "Examples")


def sections(doc):
    "The prose of a numpydoc docstring, and its sections as lists of lines."
    lines, out, now = doc.splitlines(), {"": []}, ""
    for i, line in enumerate(lines):
        if line in TITLES and i + 1 < len(lines) and set(lines[i + 1]) == {"-"}:
            now = line
            out[now] = []
        elif not (set(line) == {"-"} and not out[now]):
            out[now].append(line)
    return out


def entries(lines):
    "(name, type and default, text) of each entry of a section."
    found = []
    for line in lines:
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            found.append([name, kind, ""])
        elif line.strip() and found:
            found[-1][2] = f"{found[-1][2]} {line.strip()}".strip()
    return found


def table(title, rows):
    "A section as a table."
    if not rows:
        return ""
    cells = []
    for name, kind, text in rows:
        row = [f"`{name}`", f"`{kind}`" if kind else "", text]
        cells.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    head = [f"## {title}", "", "| name | type, default | meaning |", "|---|---|---|"]
    return "\n".join([*head, *cells, ""])


def methods_of(cls):
    "Public methods that this class or its parents in the package define."
    rows = []
    for name, f in inspect.getmembers(cls, callable):
        home = getattr(inspect.unwrap(f), "__module__", "") or ""
        if not name.startswith("_") and home.startswith("csc_nb"):
            doc = (inspect.getdoc(f) or "").splitlines()
            rows.append((f"{name}", "", doc[0] if doc else ""))
    return rows


def shown(name, signature):
    "A signature, one parameter a line when it is long."
    if len(name + signature) <= 88:
        return name + signature
    inner, _, after = signature[1:].rpartition(")")
    parts = re.split(r", (?![^([{]*[)\]}])", inner)
    return "\n".join([f"{name}(", *(f"    {p}," for p in parts), f"){after}"])


def page(name, thing, chapter):
    "The page of one public name, as MyST markdown."
    parts = sections(inspect.getdoc(thing) or "")
    signature = str(inspect.signature(thing))
    signature = re.sub(r"<[^<>]*>", "…", signature)
    text = [f"# {name}", ""]
    text += [f"*Derived in [{chapter[0]}](../{chapter[1]}).*", ""] if chapter else []
    text += ["```python", shown(name, signature), "```", "", *parts[""], ""]
    for title in ("Parameters", "Attributes", "Returns"):
        text.append(table(title, entries(parts.get(title, []))))
    if inspect.isclass(thing):
        text.append(table("Methods", methods_of(thing)))
    if parts.get("Examples"):
        text += ["## Example", "", "```python", *parts["Examples"], "```", ""]
    return "\n".join(text)


def write_reference(src, book):
    "Write `api/NAME.md` for every public name; returns the pages, and for each chapter its names."
    import csc_nb

    home = {c.module: (c.title, str(c.path)) for c in book if c.module}
    (src / "api").mkdir(parents=True, exist_ok=True)
    pages, by_chapter = [], {}
    for name in csc_nb.__all__:
        module = f"csc_nb.{csc_nb._HOME[name]}"
        thing = getattr(importlib.import_module(module), name)
        chapter = home.get(module)
        (src / "api" / f"{name}.md").write_text(
            page(name, thing, chapter), encoding="utf-8"
        )
        pages.append(f"api/{name}")
        if chapter:
            by_chapter.setdefault(chapter[1], []).append(name)
    return pages, by_chapter
