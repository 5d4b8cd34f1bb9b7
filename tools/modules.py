"""Which module imports which, read from the code: `python tools/modules.py OUT.svg`."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HAND_MADE = ("__init__", "__main__", "_modidx")


def name_of(path, package):
    return ".".join(path.relative_to(package).with_suffix("").parts)


def imported(tree, here):
    "Modules of the package that the top of a module imports."
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("csc_nb."):
                    yield alias.name.removeprefix("csc_nb.")
        elif isinstance(node, ast.ImportFrom):
            base = here.split(".")[: -node.level] if node.level else []
            inside = node.level or (node.module or "").split(".")[0] == "csc_nb"
            if inside:
                module = (node.module or "").removeprefix("csc_nb").lstrip(".")
                start = ".".join([*base, module]).strip(".")
                yield start
                for alias in node.names:  # from . import graph
                    yield f"{start}.{alias.name}".strip(".")


def imports(package=ROOT / "csc_nb"):
    "Module → the modules that it imports when it is imported."
    paths = {name_of(p, package): p for p in sorted(package.rglob("*.py"))}
    paths = {n: p for n, p in paths.items() if n.split(".")[-1] not in HAND_MADE}
    graph = {}
    for name, path in paths.items():
        found = imported(ast.parse(path.read_text(encoding="utf-8")), name)
        graph[name] = sorted({m for m in found if m in paths and m != name})
    return graph


def layers(graph):
    "Module → length of its longest chain of imports; a cycle raises ValueError."
    height, open_ones = {}, []

    def visit(name):
        if name in open_ones:
            circle = [*open_ones[open_ones.index(name) :], name]
            raise ValueError(f"modules import each other: {' → '.join(circle)}")
        if name not in height:
            open_ones.append(name)
            height[name] = 1 + max((visit(m) for m in graph[name]), default=-1)
            open_ones.pop()
        return height[name]

    for name in graph:
        visit(name)
    return height


def needed(graph):
    "Imports that no longer chain implies: what a picture has to show."
    reach = {}

    def all_below(name):
        if name not in reach:
            reach[name] = set(graph[name]).union(*map(all_below, graph[name]))
        return reach[name]

    return {
        name: [m for m in below if not any(m in all_below(o) for o in below if o != m)]
        for name, below in graph.items()
    }


def draw(out, graph=None):
    "One row for each layer, foundations at the bottom; implied lines are left out."
    import matplotlib

    matplotlib.use("agg", force=False)
    from matplotlib.figure import Figure

    graph = graph or imports()
    height, place = layers(graph), {}
    top = max(height.values())
    for row in range(top + 1):
        names = sorted(n for n in graph if height[n] == row)
        for i, name in enumerate(names):
            shift = 0.22 * (i % 2)  # two lines, so that names do not touch
            place[name] = (i + 0.5) / len(names), row + shift
    figure = Figure(figsize=(11, 1.0 * (top + 1)))
    ax = figure.add_axes([0, 0, 1, 1])
    for name, below in needed(graph).items():
        for other in below:
            (x, y), (u, v) = place[name], place[other]
            ax.plot([x, u], [y - 0.08, v + 0.08], color=".7", lw=0.7, zorder=1)
    for name, (x, y) in place.items():
        box = {"boxstyle": "round,pad=.25", "fc": "white", "ec": "#0072B2", "lw": 0.8}
        ax.text(x, y, name, ha="center", va="center", fontsize=8, bbox=box, zorder=2)
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.5, top + 0.7))
    ax.axis("off")
    figure.savefig(out)
    return out


def contributors_page(folder):
    "CONTRIBUTING.md with the picture of the modules, for the site."
    graph = imports()
    draw(folder / "modules.svg", graph)
    many = sum(map(len, graph.values()))
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return f"""{text}
## The modules

![Modules in rows; each imports only modules of lower rows]({"modules.svg"})

*{len(graph)} modules and what they import, read from the code ({many} imports; a line that
two other lines imply is left out). A module imports only from rows below its own.*
"""


if __name__ == "__main__":
    print(draw(sys.argv[1] if len(sys.argv) > 1 else "modules.svg"))
