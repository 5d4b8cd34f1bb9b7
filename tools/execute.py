"""Execute notebooks and save their outputs.

`python tools/execute.py [--slow] [--jobs N] [NOTEBOOK ...]`. Cells marked `#| eval: false`
are skipped, and `#| slow` ones too unless `--slow` is given; both keep the outputs they
had.
A notebook is written only when every cell ran: a failure leaves no half-saved outputs.
"""

import argparse, hashlib, os, re, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from machine import plain_arithmetic
from nbclient import NotebookClient
from shrink import shrink

ROOT = Path(__file__).resolve().parent.parent
WIDGET = "application/vnd.jupyter.widget-view+json"


def notebooks(root=ROOT / "nbs"):
    "Every notebook of the book, in reading order."
    hidden = lambda p: any(x.startswith((".", "_")) for x in p.relative_to(root).parts)
    return sorted(p for p in root.rglob("*.ipynb") if not hidden(p))


def skipped(cell, slow):
    flags = re.findall(r"^#\|\s*(.+?)\s*$", cell.source, re.M)
    return any(re.fullmatch(r"eval:\s*false", f) for f in flags) or (
        "slow" in flags and not slow
    )


def source_hash(nb):
    "What the saved outputs belong to: a hash of every code cell."
    return hashlib.sha256(
        "\0".join(c.source for c in nb.cells if c.cell_type == "code").encode()
    ).hexdigest()[:16]


def tidy(outputs):
    "Drop live widgets, progress bars, memory addresses and folders of this machine."
    keep = []
    for o in outputs:
        data = o.get("data", {})
        if WIDGET in data or o.output_type == "stream" and "\r" in o.text:
            continue
        if "text/plain" in data:
            data["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", data["text/plain"])
        if o.output_type == "stream":
            o.text = re.sub(r"/\S*/(?:site-packages|ipykernel_\d+)/", ".../", o.text)
        keep.append(o)
    return keep


def run(path, slow=False, timeout=1800):
    "Execute one notebook in place; returns its seconds."
    nb, start = nbformat.read(path, 4), time.time()
    client = NotebookClient(
        nb,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    with client.setup_kernel():
        for i, cell in enumerate(nb.cells):
            if cell.cell_type != "code" or skipped(cell, slow):
                continue
            client.execute_cell(cell, i)
            cell.outputs = tidy(cell.outputs)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.metadata = None, {}
    nb.metadata = {
        "kernelspec": {"display_name": "python3", "language": "python", "name": "python3"},
        "executed": source_hash(nb),
    }
    shrink(nb)
    nbformat.write(nb, path)
    subprocess.run(
        [Path(sys.executable).parent / "nbdev_clean", "--fname", str(path)],
        check=True,
        cwd=ROOT,
        capture_output=True,
    )
    return time.time() - start


def report(path, slow):
    try:
        return path, run(path, slow), None
    except Exception as e:
        return path, None, e


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("notebooks", nargs="*", type=Path)
    ap.add_argument("--slow", action="store_true")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    args = ap.parse_args()
    plain_arithmetic()
    os.environ["CSC_NB_QUIET"] = "1"  # no page shows that a kernel was compiled
    os.environ.pop(
        "MPLBACKEND", None
    )  # another backend would leave the page without its figures
    paths = [p.resolve() for p in args.notebooks] or notebooks()
    bad = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for path, secs, err in pool.map(lambda p: report(p, args.slow), paths):
            print(f"{path.name:34} {'FAILED' if err else f'{secs:5.0f} s'}", flush=True)
            if err:
                print(str(err)[-3000:], file=sys.stderr)
                bad += 1
    pictures([p for p in paths if 'class=\\"csc-live\\"' in p.read_text(encoding="utf-8")])
    sys.exit(bool(bad))


def pictures(paths):
    "Explorables get their pictures for browsers without WebAssembly."
    if not paths:
        return
    try:
        import live

        live.refresh(paths)
    except Exception as e:
        print(f"no pictures for {len(paths)} pages ({e}): run tools/live.py later")


if __name__ == "__main__":
    main()
