"""Export the notebooks and give every public name a docstring in numpydoc's form.

`python tools/export.py [--docstrings-only] [ROOT]`. One source: the comments beside the
parameters (nbdev's docments) and beside the fitted attributes of a class. nbdev exports
the cells as they stand; this program then writes what `help()` and editors read into the
docstrings of the modules: Parameters, Attributes, Returns. The first paragraph, the notes
and the example come from the docstring on the page.
"""

import ast
import io
import os
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def comments(source):
    "Line → comment that ends it."
    found = {}
    for t in tokenize.generate_tokens(io.StringIO(source).readline):
        if t.type == tokenize.COMMENT and t.line.split("#", 1)[0].strip():
            found[t.start[0]] = t.string.lstrip("# ").strip()
    return found


def default_text(node):
    "A default as it is written."
    return None if node is None else ast.unparse(node)


def parameters(function, note, skip=("self", "cls")):
    "(name, type, default, comment) of each parameter."
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    rows = list(zip(plain, defaults)) + list(zip(args.kwonlyargs, args.kw_defaults))
    out = []
    for arg, default in rows:
        if arg.arg in skip:
            continue
        kind = ast.unparse(arg.annotation) if arg.annotation else None
        text = note.get(arg.end_lineno) or note.get(getattr(default, "end_lineno", -1))
        out.append((arg.arg, kind, default_text(default), text))
    if args.kwarg:
        out.append((f"**{args.kwarg.arg}", None, None, note.get(args.kwarg.end_lineno)))
    return out


def attributes(cls, note):
    "(name, type, None, comment) of the annotated attributes and properties of a class."
    out = []
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, kind = node.target.id, ast.unparse(node.annotation).strip("'\"")
            text = note.get(node.end_lineno)
            if text and not name.startswith("_"):
                out.append((name, kind, None, text))
        elif isinstance(node, ast.FunctionDef) and is_property(node):
            if node.name.endswith("_") and not node.name.startswith("_"):
                text = ast.get_docstring(node) or ""
                kind = ast.unparse(node.returns) if node.returns else None
                out.append((node.name, kind, None, text.split("\n")[0]))
    return out


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def section(title, rows, prose=""):
    "One numpydoc section; nothing where the author wrote it."
    if not rows or re.search(rf"^ *{title}\n *---", prose, re.M):
        return []
    lines = ["", title, "-" * len(title)]
    for name, kind, default, text in rows:
        about = [kind] if kind else []
        if default is not None:
            about.append(f"default={default}")
        lines.append(name + (f" : {', '.join(about)}" if about else ""))
        lines += textwrap.wrap(
            text or "", 84, initial_indent="    ", subsequent_indent="    "
        )
    return lines


def split_doc(text):
    "The prose and the example of a docstring."
    lines = text.strip().splitlines()
    at = next((i for i, l in enumerate(lines) if l.strip().startswith(">>>")), len(lines))
    prose = re.sub(r"\n *Examples\n *-+$", "", "\n".join(lines[:at]).strip())
    return prose.strip(), "\n".join(lines[at:]).strip()


def docstring(node, note):
    "The whole docstring of a class or function."
    own = ast.get_docstring(node) or ""
    prose, example = split_doc(own)
    lines = prose.splitlines() or [node.name]
    if isinstance(node, ast.ClassDef):
        init = [
            n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"
        ]
        lines += section("Parameters", parameters(init[0], note) if init else [], prose)
        lines += section("Attributes", attributes(node, note), prose)
    else:
        lines += section("Parameters", parameters(node, note), prose)
        kind = ast.unparse(node.returns) if node.returns else None
        text = returned(node, note)
        if kind or text:
            lines += section("Returns", [(kind or "result", None, None, text)], prose)
    if example:
        lines += ["", "Examples", "--------", *example.splitlines()]
    return "\n".join(lines)


def returned(node, note):
    "The comment at the end of a signature."
    last = node.body[0].lineno - 1
    start = max(
        (a.end_lineno for a in ast.walk(node.args) if hasattr(a, "end_lineno")),
        default=node.lineno,
    )
    own = {a.end_lineno for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    return next(
        (note[i] for i in range(last, start - 1, -1) if i in note and i not in own), None
    )


def public_nodes(tree):
    "Classes and functions that stand at the top of a module and have a docstring."
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith(
            "_"
        ):
            first = node.body[0]
            is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if is_doc and isinstance(first.value.value, str):
                yield node, first
                if isinstance(node, ast.ClassDef):
                    yield from public_methods(node)


def public_methods(cls):
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and not is_property(node)
            ):
                if (
                    isinstance(first.value.value, str)
                    and len(node.args.args + node.args.kwonlyargs) > 1
                ):
                    yield node, first


def rewrite(source):
    "A module with whole docstrings."
    tree, note = ast.parse(source), comments(source)
    lines = source.split("\n")
    found = sorted(public_nodes(tree), key=lambda x: -x[1].lineno)
    for node, first in found:
        indent = " " * first.col_offset
        text = docstring(node, note)
        if "\n" not in text:
            continue
        raw = "r" if "\\" in text else ""
        body = text.replace('"""', "'''")
        block = [f'{indent}{raw}"""{body.splitlines()[0]}']
        block += [indent + l if l else "" for l in body.splitlines()[1:]]
        block.append(f'{indent}"""')
        lines[first.lineno - 1 : first.end_lineno] = block
    return "\n".join(lines)


def narrow_all(source, width=92):
    "nbdev's `__all__`, in lines that are no wider than the page."
    found = re.search(r"^__all__ = \[(.*?)\]$", source, re.M | re.S)
    if found is None:
        return source
    names = " ".join(found[1].split())
    lines = textwrap.wrap(
        names, width - 1, initial_indent=" " * 11, subsequent_indent=" " * 11
    )
    text = "__all__ = [" + "\n".join(lines).lstrip() + "]"
    return source[: found.start()] + text + source[found.end() :]


def modules(root):
    "Exported module → its text and its time of change."
    files = sorted((root / "csc_nb").rglob("*.py"))
    return {p: (p.read_bytes(), p.stat()) for p in files}


def keep_times(before):
    """A module that says what it said keeps its time of change.

    numba compiles a kernel again when its file is newer. A kernel holds those that it
    calls, also of other modules: when one module with kernels changed, all of them are new.
    """
    now = {p: p.read_bytes() for p in before if p.exists()}
    changed = [p for p in now if now[p] != before[p][0]]
    kernels = any(b"njit" in now[p] + before[p][0] for p in changed)
    for p, text in now.items():
        if p not in changed and not (kernels and b"njit" in text):
            os.utime(p, ns=(before[p][1].st_atime_ns, before[p][1].st_mtime_ns))


def main():
    folders = [a for a in sys.argv[1:] if not a.startswith("--")]
    root = Path(folders[0]).resolve() if folders else ROOT
    before = modules(root)
    if "--docstrings-only" not in sys.argv:
        done = subprocess.run([Path(sys.executable).parent / "nbdev_export"], cwd=root)
        if done.returncode:
            sys.exit(done.returncode)
    for path in sorted((root / "csc_nb").rglob("*.py")):
        if path.name in ("_modidx.py", "__init__.py", "__main__.py"):
            continue
        text = path.read_text(encoding="utf-8")
        if "AUTOGENERATED" in text:
            path.write_text(narrow_all(rewrite(text)), encoding="utf-8")
    keep_times(before)


if __name__ == "__main__":
    main()
