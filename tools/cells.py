"""Run every cell of every notebook, and compare what it prints with what is saved.

`python tools/cells.py [--slow] [--jobs N] [NOTEBOOK ...]`. Saved outputs are stale when a
module that they depend on changed; running the page and comparing its text tells the
truth about that, whatever changed. Pictures are not compared. Cells marked
`#| eval: false` are left out, sliders excepted: they are run, so that they cannot rot.

What a cell exports is taken from the exported module (the step `export` sees that the two
are the same): its kernels are compiled once, for all pages and tests, not once a page.

`--slowest N` prints the CPU seconds of the N slowest cells of each page.

A cell whose text changes from run to run (a time) says `#| volatile`. A difference on a
page of `tests/stale_allowed.txt` is told, not failed; that list may only shrink.
"""

import argparse
import ast
import importlib
import multiprocessing as mp
import os
import re
import resource
import sys
import time
import traceback
from multiprocessing.connection import wait
from pathlib import Path

from execute import ROOT, WIDGET, notebooks, skipped
from machine import plain_arithmetic

ALLOWED = ROOT / "tests" / "stale_allowed.txt"
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?|[-−]?\.\d+")
SLIDER = re.compile(r"^(explore|interact)\(", re.M)
HOME = re.compile(r"^#\|\s*default_exp\s+(\S+)", re.M)
EXPORT = re.compile(r"^#\|\s*(exports?|exporti)\b[ \t]*(\S*)", re.M)
HEAVY = "execnb.shell scipy.stats sklearn.cluster sklearn.metrics ipywidgets nbformat"
ROUNDING = 1e-11  # printed with an exponent, a smaller number says "nought"
SMALL = 30  # dots per inch of a page's pictures
KINDS = ("text/plain", "text/markdown", "text/html", "text/latex")


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def texts(outputs):
    "What a reader can read in the outputs of a cell, pictures and widgets left out."
    printed, shown = "", []
    for o in outputs:
        if o["output_type"] == "stream":
            text = joined(o["text"])
            if o["name"] == "stdout" and "\r" not in text:
                printed += text
            continue
        data = o.get("data", {})
        if WIDGET in data or any(kind.startswith("image/") for kind in data):
            continue
        found = {kind: joined(data[kind]) for kind in KINDS if kind in data}
        if "<img" in found.get("text/html", "") or "<script" in found.get("text/html", ""):
            continue
        if found:
            shown.append(found)
    return printed, shown


def in_order(words):
    "The words of a set in braces; Python writes them in any order."
    return "{" + ", ".join(sorted(words[1].split(", "))) + "}"


def tidy(text):
    "Addresses, folders, moments and ports of a machine say nothing."
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = re.sub(r"/\S*/(?:site-packages|ipykernel_\d+)/", ".../", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(?:\+00:00|Z)", "TIME", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"\{('[^{}:]*')\}", in_order, text)
    return re.sub(r"\s+", " ", text).strip()


def unit(number):
    "One unit in the last printed place of a number."
    plain = number.split("e")[0]
    return 10.0 ** -len(plain.partition(".")[2])


def same_number(a, b):
    "Equal up to one unit in the last printed place, or both nothing but rounding."
    if a == b:
        return True
    try:
        x, y = (float(t.replace("−", "-").replace(",", "")) for t in (a, b))
    except ValueError:
        return False
    if "e-" in a and "e-" in b and max(abs(x), abs(y)) < ROUNDING:
        return True
    if "." not in a or "." not in b:
        return False
    return abs(x - y) <= 1.01 * max(unit(a), unit(b)) * max(1.0, 1e-9 * abs(x))


def same_text(a, b):
    "Equal but for rounding in the last place and white space."
    a, b = tidy(a), tidy(b)
    if a == b:
        return True
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(map(same_number, NUMBER.findall(a), NUMBER.findall(b)))


def same_outputs(saved, new):
    "Do the outputs say the same?"
    (printed, shown), (printed_now, shown_now) = texts(saved), texts(new)
    if not same_text(printed, printed_now) or len(shown) != len(shown_now):
        return False
    for old, now in zip(shown, shown_now):
        kinds = [k for k in KINDS if k in old and k in now]
        if not kinds or not all(same_text(old[k], now[k]) for k in kinds):
            return False
    return True


def to_run(cell, slow):
    return not skipped(cell, slow) or (
        re.search(r"^#\|\s*eval:\s*false", cell.source, re.M) and SLIDER.search(cell.source)
    )


def defined(tree):
    "The names that a cell defines; None when it does more than define."
    names = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [a.asname or a.name.split(".")[0] for a in node.names]
        elif isinstance(node, ast.Assign) and all(map(is_name, node.targets)):
            names += [t.id for t in node.targets]
        elif not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            return None
    return None if "*" in names else names


def is_name(node):
    return isinstance(node, ast.Name)


def from_module(cell, home):
    "The cell, or where all it does is to export definitions, their import."
    export = EXPORT.search(cell.source)
    if not export or cell.outputs or not (export[2] or home):
        return cell.source
    module = "csc_nb." + (export[2] or home)
    names = defined(ast.parse(cell.source))
    there = vars(importlib.import_module(module))
    if not names or not all(name in there for name in names):
        return cell.source
    return f"from {module} import {', '.join(names)}"


def without_semicolon(source):
    "execnb forgets what was printed when a cell ends with a semicolon."
    bare = source.rstrip()
    return bare.rstrip(";") + "\nNone" if bare.endswith(";") else source


def draw_once():
    """A figure is drawn when it is shown, once, and small: pictures are not compared.

    Pyplot draws every open figure after each cell, and the notebook once more; a layout
    and a tight box cost two more passes over all its texts.
    """
    import matplotlib.pyplot as plt
    from IPython.core import pylabtools
    from matplotlib.backend_bases import FigureCanvasBase

    full, whole = pylabtools.print_figure, FigureCanvasBase.print_figure

    def small(fig, *args, base64=False, **kwargs):
        return full(fig, "png", base64=base64, dpi=SMALL, bbox_inches=None)

    def plain(self, *args, **kwargs):
        self.figure.set_layout_engine("none")
        with plt.rc_context({"savefig.bbox": None}):
            return whole(self, *args, **kwargs)

    plt.draw_all = lambda force=False: None
    FigureCanvasBase.print_figure = plain
    pylabtools.print_figure = pylabtools.retina_figure = small


def run_page(path, slow):
    "Run one notebook: its error, if any, cells that say something else, CPU of each cell."
    import nbformat
    from execnb.shell import CaptureShell

    draw_once()
    os.environ["IN_TEST"] = "1"
    os.chdir(path.parent)
    sys.path.insert(0, str(ROOT))
    shell, stale, took = CaptureShell(path), [], []
    cells = nbformat.read(path, 4).cells
    home = HOME.search("\n".join(c.source for c in cells if c.cell_type == "code"))
    for cell in cells:
        if cell.cell_type != "code" or not to_run(cell, slow):
            continue
        start = cpu_seconds()
        new = shell.run(without_semicolon(from_module(cell, home and home[1])))
        took.append((cpu_seconds() - start, cell.id))
        if shell.exc:
            where = f"cell {cell.id}:\n{cell.source[:1500]}\n"
            error = "".join(traceback.format_exception(shell.exc))[-4000:]
            return where + error, stale, took
        volatile = re.search(r"^#\|\s*(volatile|eval:\s*false)", cell.source, re.M)
        if not volatile and not same_outputs(cell.outputs, new):
            stale.append((cell.id, texts(cell.outputs), texts(new)))
    return None, stale, took


def cpu_seconds():
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def child(path, slow, pipe):
    "In a process of its own: nothing that a page sets can reach another page."
    mp.process._parent_process = None  # a page is no worker of another program
    try:
        result = run_page(path, slow)
    except BaseException:
        result = traceback.format_exc()[-4000:], [], []
    pipe.send((*result, cpu_seconds()))
    pipe.close()
    sys.stdout.flush()
    os._exit(0)


def preload():
    "Imported once, before the pages are forked off."
    import pandas as pd

    sys.path.insert(0, str(ROOT))
    ours = [p.stem for p in (ROOT / "csc_nb").glob("*.py") if p.stem != "__main__"]
    for name in [*HEAVY.split(), *(f"csc_nb.{name}" for name in sorted(ours))]:
        importlib.import_module(name)
    pd.set_option("display.max_columns", 20)  # as in a notebook, not as in a terminal


def run_all(paths, slow, jobs):
    "(path, error, stale cells, CPU of cells, CPU) of each page; largest file first."
    preload()
    fork = mp.get_context("fork")
    queue = sorted(paths, key=lambda p: p.stat().st_size)
    running = {}
    while queue or running:
        while queue and len(running) < jobs:
            path = queue.pop()
            ours, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=child, args=(path, slow, theirs))
            process.start()
            theirs.close()
            running[ours] = path, process
        for pipe in wait(list(running)):
            path, process = running.pop(pipe)
            try:
                yield path, *pipe.recv()
            except EOFError:
                yield path, "the process ended without a word", [], [], 0.0
            process.join()


def allowed():
    "Pages that may differ from what is saved."
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and line[0] != "#"}


def show(what):
    printed, shown = what
    return (printed + " ".join(s.get("text/plain", "") for s in shown))[:600]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("notebooks", nargs="*", type=Path)
    ap.add_argument("--slow", action="store_true")
    ap.add_argument("--slowest", type=int, default=0, help="cells of a page to time")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    args = ap.parse_args()
    plain_arithmetic()
    os.environ.setdefault("CSC_NB_QUIET", "1")
    os.environ.pop("MPLBACKEND", None)
    paths = [p.resolve() for p in args.notebooks] or notebooks()
    told, bad, agree, start = allowed(), 0, 0, time.time()
    for path, error, stale, took, cpu in run_all(paths, args.slow, args.jobs):
        name = path.relative_to(ROOT / "nbs").as_posix()
        word = "FAILED" if error else "stale" if stale else "ok"
        print(f"{name:38} {word:7} {cpu:6.1f} CPU s", flush=True)
        for seconds, cell in sorted(took, reverse=True)[: args.slowest]:
            print(f"  cell {cell:30} {seconds:6.1f} CPU s")
        if error:
            print(error)
        for cell, saved, now in stale:
            print(f"  cell {cell} saved: {show(saved)}\n  now: {show(now)}")
        bad += bool(error or (stale and name not in told))
        agree += not error and not stale
    if bad:
        print(f"{bad} pages: run `make notebooks NB=...` for those that are stale.")
    print(f"{len(paths)} pages in {time.time() - start:.0f} s, {agree} agree")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
