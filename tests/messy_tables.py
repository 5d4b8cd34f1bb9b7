"""Ten tables with the mess that spreadsheets have, and what should come out of them.

`python tests/messy_tables.py FOLDER` writes them; each has three groups of twenty rows.
"""

import csv
import datetime as dt
import io
import random
import sys
from pathlib import Path

WORDS = (
    "coughs at night and has a high fever",
    "sleeps well and has no complaints at all",
    "pain in the left knee after a long walk",
)
WARDS = ("North", "South", "East")


def rows(seed=0):
    "Sixty plain rows; `group` is the truth."
    rng = random.Random(seed)
    out = []
    for i in range(60):
        g = i % 3
        out.append(
            dict(
                id=f"p{i:03}",
                group=g,
                weight=round(60 + 12 * g + rng.gauss(0, 2), 1),
                crp=round(4 + 9 * ((g + 1) % 3) + rng.gauss(0, 1), 1),
                sat=88 + 4 * ((g + 2) % 3) + rng.randint(-1, 1),
                seen=dt.date(2024, 1, 5) + dt.timedelta(days=40 * g + rng.randint(0, 20)),
                ward=WARDS[g if rng.random() < 0.8 else rng.randrange(3)],
                smoker=rng.random() < 0.5,
                note=f"{WORDS[g]} {rng.choice(['again', 'today', 'since May'])}",
                name=f"{rng.choice('ABCDEFG')}. Person{i}",
            )
        )
    return out


def written(head, body, sep=",", encoding="utf-8", before="", after="", end="\n"):
    out = io.StringIO()
    table = csv.writer(out, delimiter=sep, lineterminator=end)
    table.writerow(head)
    table.writerows(body)
    return (before + out.getvalue() + after).encode(encoding)


def comma(x):
    return str(x).replace(".", ",")


def plain(R):
    body = [(r["id"], r["weight"], r["crp"], r["sat"]) for r in R]
    kinds = dict(id="id", weight="number", crp="number", sat="number")
    return "plain.csv", written(list(kinds), body), kinds


def german(R):
    "Semicolons, decimal commas, umlauts in Western European, dates with dots, percent signs."
    body = [
        (r["id"], comma(r["weight"]), f"{r['sat']}%", f"{r['seen']:%d.%m.%Y}",
         "ja" if r["smoker"] else "nein")
        for r in R
    ]  # fmt: skip
    kinds = {
        "Prüf-ID": "id",
        "Körpergewicht": "number",
        "Sättigung": "number",
        "Besuch": "date",
        "Raucher": "yes/no",
    }
    return "german.csv", written(list(kinds), body, ";", "cp1252", end="\r\n"), kinds


def laboratory(R):
    '"<5", "n/a", gaps, a unit, a number with a word in one cell.'
    body = []
    for i, r in enumerate(R):
        crp = "<5" if r["crp"] < 5 else r["crp"]
        crp = "n/a" if i == 7 else "clotted" if i == 11 else crp
        body.append(
            (r["id"], crp, f"{r['weight']} kg", "" if i == 3 else r["sat"], r["ward"])
        )
    kinds = dict(id="id", crp="number", weight="number", sat="number", ward="category")
    return "laboratory.csv", written(list(kinds), body), kinds


def titled(R):
    "A title and an empty line above, trailing separators, totals below, an empty row."
    body = [(r["id"], r["weight"], r["crp"], "", "") for r in R]
    body.insert(30, ("", "", "", "", ""))
    after = f"Total,{sum(r['weight'] for r in R):.1f},{sum(r['crp'] for r in R):.1f},,\n"
    before = "Ward report 2024,,,,\n,,,,\n"
    kinds = dict(id="id", weight="number", crp="number")
    data = written([*kinds, "", ""], body, before=before, after=after)
    return "titled.csv", data, kinds


def excel_text(R):
    "What Excel calls Unicode text: UTF-16, tabs; thousands; money; negative in brackets."
    body = []
    for r in R:
        debt = r["weight"] * 100 - 7000
        cell = f"({-debt:,.2f})" if debt < 0 else f"{debt:,.2f}"
        body.append((r["id"], f"${r['weight'] * 100:,.2f}", cell, r["sat"]))
    kinds = dict(key="id", income="number", balance="number", sat="number")
    return "excel.txt", written(list(kinds), body, "\t", "utf-16", end="\r\n"), kinds


def american(R):
    "Months first, thousands, leading zeros, a name, one more column with the same header."
    body = [
        (f"{i:05}", r["name"], f"{r['seen']:%m/%d/%Y}", f"{r['weight'] * 100:,.0f}", r["sat"],
         r["sat"] + 1)
        for i, r in enumerate(R)
    ]  # fmt: skip
    head = ["case no", "Name", "seen", "steps", "sat", "sat"]
    kinds = {"case no": "id", "Name": "name", "seen": "date", "steps": "number"}
    kinds |= {"sat": "number", "sat (2)": "number"}
    return "american.csv", written(head, body), kinds


def years(R):
    "A header of years."
    body = [(r["id"], r["weight"], r["weight"] + r["crp"], r["sat"]) for r in R]
    kinds = {"id": "id", "2019": "number", "2020": "number", "2021": "number"}
    return "years.csv", written(list(kinds), body), kinds


def notes(R):
    "Texts with commas, quotes and line ends in them; ticks; an R row counter."
    body = [
        (i, f'{r["note"]}, "so he says",\nand more', "x" if r["smoker"] else "", r["ward"])
        for i, r in enumerate(R, 1)
    ]
    kinds = {"": "id", "note": "text", "smoker": "yes/no", "ward": "category"}
    return "notes.csv", written(list(kinds), body, end="\r\n"), kinds


def bare(R):
    "No header, blanks between the columns."
    lines = [f"{r['weight']:8} {r['crp']:8} {r['sat']:6}" for r in R]
    kinds = {"column 1": "number", "column 2": "number", "column 3": "number"}
    return "bare.dat", ("\n".join(lines) + "\n").encode(), kinds


def swiss(R):
    "Excel's first line, apostrophes, invisible signs, constant and empty columns, times."
    body = [
        (f"\u200b{r['id']} ", f"{1000 * r['weight']:,.0f}".replace(",", "’"), "CH", "",
         f"{6 + r['sat'] % 12}:{r['sat'] % 60:02}", f"\u00a0{r['crp']}")
        for r in R
    ]  # fmt: skip
    kinds = dict(id="id", salary="number", land="constant", remark="empty")
    kinds |= dict(start="number", crp="number")
    data = written(list(kinds), body, ";", "utf-8-sig", before="sep=;\n")
    return "swiss.csv", data, kinds


MAKERS = (
    plain,
    german,
    laboratory,
    titled,
    excel_text,
    american,
    years,
    notes,
    bare,
    swiss,
)


def messy_tables(seed=0):
    "name of the file → bytes, kinds of its columns, true groups, ids or None."
    out = {}
    for make in MAKERS:
        R = rows(seed)
        name, data, kinds = make(R)
        out[name] = (data, kinds, [r["group"] for r in R])
    return out


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (data, kinds, _) in messy_tables().items():
        (folder / name).write_bytes(data)
        print(name, kinds)
