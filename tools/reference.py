"""The reference: one page for each public name, made from its docstring.

Each is linked from and to its chapter; a glossary and the page for contributors go along.
"""

import importlib
import inspect
import re

from modules import contributors_page

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
    "Write `api/NAME.md` for every public name; gives the pages, and each chapter's names."
    import csc_nb

    home = {c.module: (c.title, str(c.path)) for c in book if c.module}
    (src / "api").mkdir(parents=True, exist_ok=True)
    page_of_words = glossary_page(csc_nb.__all__)
    (src / "api" / "glossary.md").write_text(page_of_words, encoding="utf-8")
    pages, by_chapter = ["api/glossary"], {}
    for name in csc_nb.__all__:
        module = f"csc_nb.{csc_nb._HOME[name]}"
        thing = getattr(importlib.import_module(module), name)
        chapter = home.get(module)
        text = page(name, thing, chapter)
        (src / "api" / f"{name}.md").write_text(text, encoding="utf-8")
        pages.append(f"api/{name}")
        if chapter:
            by_chapter.setdefault(chapter[1], []).append(name)
    text = contributors_page(src / "api")
    (src / "api" / "contributing.md").write_text(text, encoding="utf-8")
    return [*pages, "api/contributing"], by_chapter


def glossary(names):
    "Name → meaning → classes, for the parameters and the attributes of all public classes."
    import csc_nb

    found = {"Parameters": {}, "Attributes": {}}
    for name in names:
        thing = getattr(csc_nb, name)
        if not inspect.isclass(thing):
            continue
        parts = sections(inspect.getdoc(thing) or "")
        for title, known in found.items():
            for word, _, meaning in entries(parts.get(title, [])):
                for one in word.split(", "):
                    known.setdefault(one, {}).setdefault(meaning, []).append(name)
    return found


def glossary_page(names):
    "Every parameter and attribute with its meaning and the classes that have it."
    text = ["# Glossary of parameters and attributes", ""]
    text += ["Made from the docstrings of the public classes. Names that several classes"]
    text += ["share are explained in [Notation and the map](../00_notation.ipynb).", ""]
    for title, known in glossary(names).items():
        text += [f"## {title}", "", "| name | meaning | in |", "|---|---|---|"]
        for word in sorted(known, key=str.lower):
            for i, (meaning, classes) in enumerate(known[word].items()):
                links = ", ".join(f"[{c}]({c}.md)" for c in classes)
                row = [f"`{word}`" if i == 0 else "", meaning, links]
                text.append("| " + " | ".join(x.replace("|", "\\|") for x in row) + " |")
        text.append("")
    return "\n".join(text)
