"""Run every cell of every notebook, and compare what it prints with what is saved.

`python tools/cells.py [--slow] [--jobs N] [NOTEBOOK ...]`. Saved outputs are stale when a
module that they depend on changed; running the page and comparing its text tells the
truth about that, whatever changed. Pictures are not compared. Cells marked
`#| eval: false` are left out, sliders excepted: they are run, so that they cannot rot.

A cell whose text changes from run to run (a time, a folder) says `#| volatile`.
`tests/compared_pages.txt` lists the pages that must agree, some with cells excepted; a
difference on any other page is told, not failed. `--write` adds pages that agree.
"""

import argparse
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

COMPARED = ROOT / "tests" / "compared_pages.txt"
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?|[-−]?\.\d+")
SLIDER = re.compile(r"^(explore|interact)\(", re.M)
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


def tidy(text):
    "Addresses and folders of a machine say nothing."
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = re.sub(r"/\S*/(?:site-packages|ipykernel_\d+)/", ".../", text)
    return re.sub(r"\s+", " ", text).strip()


def unit(number):
    "One unit in the last printed place of a number."
    plain = number.split("e")[0]
    return 10.0 ** -len(plain.partition(".")[2])


def same_number(a, b):
    "Equal up to one unit in the last printed place: processors round differently."
    if a == b:
        return True
    if "." not in a or "." not in b:
        return False
    try:
        x, y = (float(t.replace("−", "-").replace(",", "")) for t in (a, b))
    except ValueError:
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


def run_page(path, slow):
    "Run one notebook; gives its error, if any, and the cells that say something else."
    import nbformat
    from execnb.shell import CaptureShell

    os.environ["IN_TEST"] = "1"
    os.chdir(path.parent)
    sys.path.insert(0, str(ROOT))
    shell, stale = CaptureShell(path), []
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type != "code" or not to_run(cell, slow):
            continue
        new = shell.run(cell.source)
        if shell.exc:
            where = f"cell {cell.id}:\n{cell.source[:1500]}\n"
            return where + "".join(traceback.format_exception(shell.exc))[-4000:], stale
        volatile = re.search(r"^#\|\s*(volatile|eval:\s*false)", cell.source, re.M)
        if not volatile and not same_outputs(cell.outputs, new):
            stale.append((cell.id, texts(cell.outputs), texts(new)))
    return None, stale


def child(path, slow, pipe):
    "In a process of its own: nothing that a page sets can reach another page."
    try:
        result = run_page(path, slow)
    except BaseException:
        result = traceback.format_exc()[-4000:], []
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    pipe.send((*result, sum(u.ru_utime + u.ru_stime for u in used)))
    pipe.close()
    sys.stdout.flush()
    os._exit(0)


def preload():
    "Imported once, before the pages are forked off."
    for name in (
        "numpy",
        "scipy.sparse",
        "sklearn.cluster",
        "numba",
        "pandas",
        "matplotlib",
    ):
        __import__(name)


def run_all(paths, slow, jobs):
    "(path, error, stale cells, CPU seconds) of each page, as they end; largest file first."
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
                yield path, "the process ended without a word", [], 0.0
            process.join()


def compared():
    "Page → cells that are excepted."
    lines = COMPARED.read_text().splitlines() if COMPARED.exists() else []
    rows = [line.split() for line in lines if line and line[0] != "#"]
    return {row[0]: set(row[2:]) for row in rows}


def add_to_compared(pages):
    "Pages that agree now must agree from now on."
    head = [line for line in COMPARED.read_text().splitlines() if line.startswith("#")]
    rows = {**{page: set() for page in pages}, **compared()}
    lines = [
        f"{p} except {' '.join(sorted(c))}" if c else p for p, c in sorted(rows.items())
    ]
    COMPARED.write_text("\n".join([*head, *lines]) + "\n")


def show(what):
    printed, shown = what
    return (printed + " ".join(s.get("text/plain", "") for s in shown))[:600]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("notebooks", nargs="*", type=Path)
    ap.add_argument("--slow", action="store_true")
    ap.add_argument("--write", action="store_true", help="add pages that agree to the list")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    args = ap.parse_args()
    for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CSC_NB_QUIET"):
        os.environ.setdefault(v, "1")
    os.environ.pop("MPLBACKEND", None)
    paths = [p.resolve() for p in args.notebooks] or notebooks()
    known, bad, agree, start = compared(), 0, [], time.time()
    for path, error, stale, cpu in run_all(paths, args.slow, args.jobs):
        name = path.relative_to(ROOT / "nbs").as_posix()
        new = [s for s in stale if s[0] not in known.get(name, ())]
        word = "FAILED" if error else "stale" if new else "ok"
        print(f"{name:38} {word:7} {cpu:6.1f} CPU s", flush=True)
        if error:
            print(error)
        for cell, saved, now in new:
            print(f"  cell {cell} saved: {show(saved)}\n  now: {show(now)}")
        bad += bool(error or (new and name in known))
        agree += [name] * (not error and not new)
    if bad:
        print(f"{bad} pages: run `make notebooks NB=...` for those that are stale.")
    print(f"{len(paths)} pages in {time.time() - start:.0f} s, {len(agree)} agree")
    if args.write:
        add_to_compared(agree)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
