"""Twenty tables with the mess that spreadsheets have, and what should come out of them.

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
    """Semicolons, decimal commas, umlauts in Western European, dates with dots, percent
    signs."""
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
        (f"{i:05}", r["name"], f"{r['seen']:%m/%d/%Y}", f"{r['weight'] * 100:,.0f}",
         r["sat"], r["sat"] + 1)
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


# ten more, made after the reader was written and before it saw them


def merged(R):
    "Two header rows: a band over pairs of columns, whose own headers repeat."
    body = [(r["id"], r["weight"], r["crp"], r["weight"] - 5, r["sat"]) for r in R]
    kinds = {"id": "id", "before weight": "number", "before crp": "number"}
    kinds |= {"after weight": "number", "after sat": "number"}
    data = written(
        ["id", "weight", "crp", "weight", "sat"], body, before=",before,,after,\n"
    )
    values = {"after weight": [r["weight"] - 5 for r in R]}
    return "merged.csv", data, kinds, values


def invoice(R):
    "Thousands, a currency behind the number, ids with zeros, totals and a source below."
    money = [round(1000 * r["weight"] + 0.5, 2) for r in R]
    body = [
        (f"{i:06}", r["ward"], f"{x:,.2f} kr", f"{r['crp']} mg/L")
        for i, (r, x) in enumerate(zip(R, money), 7)
    ]
    body += [("", "Subtotal", f"{sum(money):,.2f} kr", "")]
    body += [("", "Grand total", f"{sum(money) * 1.25:,.2f} kr", "")]
    kinds = {"invoice no": "id", "ward": "category", "amount": "number", "crp": "number"}
    after = "\nSource: ward accounting, page 1 of 1\n"
    data = written(list(kinds), body, after=after, end="\r\n")
    return "invoice.csv", data, kinds, {"amount": money, "crp": [r["crp"] for r in R]}


def dates(R):
    "Four ways to write a day in one column, each of them clear; times of day in another."
    forms = ("%Y-%m-%d", "%d %b %Y", "%B %d, %Y", "%d.%m.%Y")
    body = [
        (r["id"], r["seen"].strftime(forms[i % 4]), f"{r['seen']:%Y%m%d}", r["crp"])
        for i, r in enumerate(R)
    ]
    kinds = dict(id="id", seen="date", stamp="date", crp="number")
    days = [r["seen"].toordinal() - 719163 for r in R]
    return "dates.csv", written(list(kinds), body), kinds, dict(seen=days, stamp=days)


def languages(R):
    "Yes and no in seven languages, and one column that three people filled in."
    pairs = dict(
        fumeur=("oui", "non"), fumatore=("sì", "no"), курит=("да", "нет"),
        palacz=("tak", "nie"), roker=("ja", "nee"), tupakoi=("kyllä", "ei"),
        喫煙=("はい", "いいえ"),
    )  # fmt: skip
    mixed = (("Yes", "No"), ("JA", "NEIN"), ("y", "n"))
    body = []
    for i, r in enumerate(R):
        words = [p[not r["smoker"]] for p in pairs.values()]
        words.append("?" if i == 5 else mixed[i % 3][not r["smoker"]])
        body.append((r["id"], r["weight"], r["crp"], *words))
    kinds = dict(id="id", weight="number", crp="number")
    kinds |= dict.fromkeys([*pairs, "mixed"], "yes/no")
    truth = ["yes" if r["smoker"] else "no" for r in R]
    values = dict.fromkeys(pairs, truth)
    values["mixed"] = [None if i == 5 else w for i, w in enumerate(truth)]
    return "languages.csv", written(list(kinds), body), kinds, values


def margins(R):
    "A mark, semicolons, decimal commas; empty columns on the left and right, empty rows."
    head = ["", "", "Nr.", "Gewicht [kg]", "CRP", "Station", "", ""]
    body = []
    for i, r in enumerate(R, 1):
        body.append(("", "", i, comma(r["weight"]), comma(r["crp"]), r["ward"], "", ""))
        if i % 20 == 0:
            body.append(("",) * 8)
    kinds = {"Nr.": "id", "Gewicht [kg]": "number", "CRP": "number", "Station": "category"}
    data = written(head, body, ";", "utf-8-sig", before=";;;;;;;\n", end="\r\n")
    return "margins.csv", data, kinds, {"CRP": [r["crp"] for r in R]}


def twice(R):
    "Headers with line ends and pictures, one of them three times; cells with line ends."
    head = ["Probe", "❤️ rate", "weight\n(kg)", "value", "value", "value", "📝"]
    body = [
        (f"{r['id']}", r["sat"], r["weight"], r["crp"], r["crp"] + 1, r["crp"] + 2,
         f'{r["note"]}\n\n"{r["ward"]}", he said')
        for r in R
    ]  # fmt: skip
    kinds = {"Probe": "id", "❤️ rate": "number", "weight (kg)": "number", "value": "number"}
    kinds |= {"value (2)": "number", "value (3)": "number", "📝": "text"}
    data = written(head, body, end="\r\n")
    return "twice.csv", data, kinds, {"value (3)": [r["crp"] + 2 for r in R]}


def frame(R):
    "What pandas writes: its counter, True and False, NaN; 12 kg; gaps; a constant column."
    body = []
    for i, r in enumerate(R):
        rare = round(r["crp"], 1) if i in (4, 17, 40) else ""
        mass = f"{r['weight']:.1f} kg" if i % 5 else f"{r['weight']:.1f}kg"
        sat = "NaN" if i == 9 else float(r["sat"])
        body.append((i, mass, str(r["smoker"]), sat, rare, "Basel", r["crp"]))
    kinds = {"Unnamed: 0": "id", "mass": "number", "smoker": "yes/no", "sat": "number"}
    kinds |= {"rare": "number", "town": "constant", "crp": "number"}
    return (
        "frame.csv",
        written(list(kinds), body),
        kinds,
        {"mass": [r["weight"] for r in R]},
    )


def wide(R):
    "Three hundred columns, most of them noise, some with decimal commas, tabs between."
    rng = random.Random(5)
    kinds = {"sample": "id"} | {f"gene{j}": "number" for j in range(300)}
    body, first = [], []
    for r in R:
        signal = [r["weight"] + rng.gauss(0, 3) for _ in range(60)]
        noise = [rng.gauss(5, 1) for _ in range(240)]
        cells = [f"{x:.2f}" for x in signal + noise]
        first.append(float(cells[0]))
        body.append((r["id"], *map(comma, cells)))
    return "wide.tsv", written(list(kinds), body, "\t"), kinds, {"gene0": first}


def codes(R):
    "Codes with zeros, ranges, ages with ≥, stars of footnotes, full-width digits, a phone."
    body = []
    for i, r in enumerate(R):
        age = 40 + 15 * r["group"]
        body.append((
            f"{i + 1:04}-{'ABC'[i % 3]}", f"0{1000 + i % 3}", "≥ 90" if i == 2 else age,
            f"{r['crp']}*" if i % 9 == 0 else r["crp"],
            str(r["sat"]).translate({48 + d: 0xFF10 + d for d in range(10)}),
            f"+41 61 555 {i:02} {i:02}",
        ))  # fmt: skip
    kinds = {"code": "id", "zip": "category", "age": "number", "crp": "number"}
    kinds |= {"sat": "number", "phone": "name"}
    values = dict(crp=[r["crp"] for r in R], sat=[r["sat"] for r in R])
    return "codes.csv", written(list(kinds), body), kinds, values


def survey(R):
    "A questionnaire: questions as header, grades as words, a second line of units."
    grades = ("never", "sometimes", "often", "always")
    body = [
        (i + 1, r["weight"], f"{r['sat']} %", grades[min(3, r["group"] + r["smoker"])],
         f"{int(r['crp'])}½" if i % 7 == 0 else f"{int(r['crp'])}", r["note"])
        for i, r in enumerate(R)
    ]  # fmt: skip
    names = ["Respondent ID", "How heavy are you, roughly?", "Saturation (SpO2)"]
    names += ["How often do you cough at night, and why?", "CRP", "Anything else?"]
    kinds = dict(zip(names, ("id", "number", "number", "category", "number", "text")))
    data = written(names, [("", "kg", "%", "", "mg/L", ""), *body])
    crp = [int(r["crp"]) + (0.5 if i % 7 == 0 else 0) for i, r in enumerate(R)]
    return "survey.csv", data, kinds, {"CRP": crp}


MORE = (
    merged,
    invoice,
    dates,
    languages,
    margins,
    twice,
    frame,
    wide,
    codes,
    survey,
)


def more_messy_tables(seed=0):
    "name of the file → bytes, kinds of columns, true groups, values of some columns."
    out = {}
    for make in MORE:
        R = rows(seed)
        name, data, kinds, values = make(R)
        out[name] = (data, kinds, [r["group"] for r in R], values)
    return out


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (data, kinds, *_) in (messy_tables() | more_messy_tables()).items():
        (folder / name).write_bytes(data)
        print(name, kinds)
