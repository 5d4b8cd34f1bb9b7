"""The ledger of the papers' equations: reads `nbs/experiments/ledger.csv` and finds the
cell that checks each entry."""

import ast, contextlib, csv, importlib.util, io, re, tokenize, unicodedata
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "nbs" / "experiments" / "ledger.csv"
ASSERTS = re.compile(r"\bassert\b|\btest_\w+\(")

RUN = ("as printed", "smaller", "data of ours", "not run")  # of results

# What the papers number. An entry of the ledger must exist for each of these.
span = lambda a, b, chapter="": [f"({chapter}{i})" for i in range(a, b + 1)]
NUMBERED = {
    "000": span(1, 9) + ["Table 1", "Table 2"],
    "001": span(1, 7, "2.") + ["Algorithm 1", "Table 1", "Table 2", "Table 3"],
    "002": span(1, 4) + ["Proposition 1", "Algorithm 1", "Algorithm 2"],
    "003": (
        span(1, 16, "2.")
        + span(1, 15, "3.")
        + span(1, 13, "4.")
        + span(1, 9, "5.")
        + [f"Algorithm {i}" for i in (1, 2, 3, 4)]
        + ["Proposition 1", "Theorem 3.4.1", "Corollary 3.4.1.1", "Table 2.1", "Table 2.2"]
        + [f"Table 3.{i}" for i in range(1, 10)]
        + ["Table 4.1", "Table 4.2", "Table 5.1", "Table 5.2"]
    ),
    "004": span(1, 21)
    + [
        "Definition 1",
        "Definition 2",
        "Lemma 3",
        "Theorem 4",
        "Theorem 5",
        "Algorithm 1",
        "Table 1",
        "Table 2",
        "Table 3",
        "Table 4",
    ],
}
FIGURES = {
    "000": ["1", "2", "3", "4"],
    "001": ["1"],
    "002": list("123456"),
    "004": list("1234"),
    "003": [f"2.{i}" for i in range(1, 5)]
    + [f"3.{i}" for i in range(1, 11)]
    + ["4.1", "4.2"]
    + [f"5.{i}" for i in range(1, 7)],
}
for p, numbers in FIGURES.items():
    NUMBERED[p] += [f"Figure {i}" for i in numbers]


def rows(path=PATH):
    "Entries of the ledger, as dicts."
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def cells(name, root=ROOT, cache={}):
    """Code cells of a notebook as (text, heading above it); None when there is no such
    notebook. A test file is one cell."""
    path = root / name if name.startswith("tests/") else root / "nbs" / f"{name}.ipynb"
    if not path.is_file():
        return None
    if path not in cache:
        if path.suffix == ".py":
            cache[path] = [(path.read_text(encoding="utf-8"), "")]
        else:
            out, heading = [], ""
            for c in nbformat.read(path, 4).cells:
                if c.cell_type == "markdown":
                    heading = (
                        [
                            l.lstrip("#").strip()
                            for l in c.source.splitlines()
                            if re.match(r"#{2,3} ", l)
                        ]
                        or [heading]
                    )[-1]
                elif c.cell_type == "code":
                    out.append((c.source, heading))
            cache[path] = out
    return cache[path]


LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}


def skeleton(source):
    """The tokens of a piece of code without its layout.

    Line breaks, comments, parentheses, semicolons and trailing commas come and go with the
    formatter; quotes and forms of numbers too. A piece may be cut off anywhere.
    """
    tokens = []
    try:
        for t in tokenize.generate_tokens(io.StringIO(source).readline):
            if t.type in LAYOUT or t.string in ("", "(", ")", ";"):
                if t.string == ")" and tokens and tokens[-1] == ",":
                    tokens.pop()
                continue
            if t.string in ("]", "}") and tokens and tokens[-1] == ",":
                tokens.pop()
            tokens.append(plain(t))
    except (tokenize.TokenError, IndentationError):
        pass  # the piece ends within a bracket
    return "\x1f".join(tokens)


def plain(token):
    "A literal by its value, anything else as it is written."
    if token.type in (tokenize.STRING, tokenize.NUMBER):
        with contextlib.suppress(ValueError, SyntaxError):
            return repr(ast.literal_eval(token.string))
    return token.string


def find(row, root=ROOT):
    """Heading of the cell that checks an entry, or None; `||` separates alternatives.

    Results need a cell, everything else an assertion in it. Layout does not matter.
    """
    for fragment in filter(None, map(str.strip, row["check"].split("||"))):
        wanted = skeleton(fragment)
        for text, heading in cells(row["notebook"], root) or []:
            enough = row["kind"] == "result" or ASSERTS.search(text)
            if enough and wanted in skeleton(text):
                return heading
    return None


def mutations(root=ROOT):
    "(paper, item) → names of the forms that a mutation test shows to fail."
    path = root / "tests" / "test_ledger_mutations.py"
    spec = importlib.util.spec_from_file_location("ledger_mutations", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {key: sorted(fails) for key, (_, _, fails) in module.CASES.items()}


def slug(heading):
    "The anchor that the site (docutils) gives a heading."
    plain = (
        unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    )
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", " ".join(plain.split())))


def faults(entries, root=ROOT):
    "What is wrong with a ledger, as sentences."
    out, have = [], {(r["paper"], r["item"]) for r in entries}
    for paper, items in NUMBERED.items():
        out += [f"paper {paper}: {i} has no entry" for i in items if (paper, i) not in have]
    for r in entries:
        where = f"paper {r['paper']}, {r['item']}"
        if not r["verdict"]:
            out.append(f"{where}: no verdict")
        if (r["kind"] == "result") != (r.get("run", "") in RUN):
            out.append(f"{where}: a result, and only a result, says how it was run")
        if r["check"] and not r["notebook"]:
            out.append(f"{where}: a check, but no notebook")
        if find(r, root) is None and not r["why_not"].strip():
            out.append(
                f"{where}: nbs/{r['notebook']}.ipynb has no cell with an assertion that "
                f"contains {r['check']!r}, and no entry says why not"
            )
    twice = [k for k in have if sum((r["paper"], r["item"]) == k for r in entries) > 1]
    return out + [f"paper {p}, {i}: two entries" for p, i in twice]
