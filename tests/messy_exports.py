"""Twenty tables from programs and people, made after the reader and unlike the others.

Hospitals, Excel in German and French, forms, labels of SPSS, totals on top and between.
"""

import datetime as dt
import random

from messy_tables import comma, rows, written


def hospital(R):
    "HL7-like export: pipes, dates with times and zones, sex as M/F/U, codes, 'see note'."
    body = [
        (
            f"MRN{7000 + i}",
            f"{r['seen']:%Y-%m-%d}T08:{i % 60:02}:00+01:00",
            "MF"[r["smoker"]],
            "see note" if i == 8 else r["crp"],
            r["weight"],
            "N/D" if i % 11 == 0 else r["sat"],
        )
        for i, r in enumerate(R)
    ]
    kinds = {
        "patient_mrn": "id",
        "admitted": "date",
        "sex": "category",
        "crp_mg_l": "number",
        "weight_kg": "number",
        "spo2": "number",
    }
    return (
        "hospital.txt",
        written(list(kinds), body, "|"),
        kinds,
        {"crp_mg_l": [None if i == 8 else r["crp"] for i, r in enumerate(R)]},
    )


def french(R):
    "French Excel: narrow blanks for thousands, decimal commas, € behind, VRAI and FAUX."
    f = lambda x: f"{x:,.2f}".replace(",", "\u202f").replace(".", ",")
    body = [
        (
            i + 1,
            f(1000 * r["weight"]) + " €",
            comma(r["crp"]),
            "VRAI" if r["smoker"] else "FAUX",
            f"{r['seen']:%d/%m/%Y}",
        )
        for i, r in enumerate(R)
    ]
    kinds = {
        "N°": "id",
        "Salaire": "number",
        "Âge moyen": "number",
        "Fumeur": "yes/no",
        "Entrée": "date",
    }
    return (
        "francais.csv",
        written(list(kinds), body, ";", "utf-8-sig", end="\r\n"),
        kinds,
        {"Salaire": [round(1000 * r["weight"], 2) for r in R]},
    )


def german2(R):
    "German Excel: points for thousands, trailing minus, 'k.A.', WAHR/FALSCH."
    f = lambda x: f"{x:,.2f}".replace(",", "X").replace(".", ",").replace("X", ".")
    v = [round(1000 * r["weight"] - 70000.5, 2) for r in R]
    body = [
        (
            f"{i + 1:03}",
            f(abs(x)) + ("-" if x < 0 else ""),
            "k.A." if i == 4 else comma(r["crp"]),
            "WAHR" if r["smoker"] else "FALSCH",
            r["ward"],
        )
        for i, (r, x) in enumerate(zip(R, v))
    ]
    kinds = {
        "Kd.-Nr.": "id",
        "Saldo": "number",
        "CRP": "number",
        "aktiv": "yes/no",
        "Station": "category",
    }
    return (
        "saldo.csv",
        written(list(kinds), body, ";", "cp1252", end="\r\n"),
        kinds,
        {"Saldo": v},
    )


def sheets(R):
    "A form of Google: times with a clock, numbered words, #N/A and #DIV/0!, emails."
    likert = ("1 - never", "2 - sometimes", "3 - often")
    body = [
        (
            "{0.month}/{0.day}/{0.year}".format(r["seen"]) + f" {8 + i % 9}:{i % 60:02}:00",
            f"user{i}@example.org",
            likert[r["group"]],
            "#N/A" if i == 3 else "#DIV/0!" if i == 9 else r["crp"],
            r["weight"],
        )
        for i, r in enumerate(R)
    ]
    kinds = {
        "Timestamp": "date",
        "Email Address": "name",
        "How often?": "category",
        "Score": "number",
        "Weight (kg)": "number",
    }
    return "form.csv", written(list(kinds), body), kinds, {}


def spss(R):
    "SPSS: labels as values, .5 without a zero, padded, a point or a blank for a gap."
    lab = {0: "Low", 1: "Medium", 2: "High"}
    body = [
        (
            f"{i + 1:4}",
            f"{r['crp'] / 100:6.3f}".replace("0.", "."),
            "." if i == 6 else f"{r['weight']:8.2f}",
            lab[r["group"]] + " " * 6,
            " " if i % 13 == 0 else str(r["sat"]),
        )
        for i, r in enumerate(R)
    ]
    kinds = {
        "caseid": "id",
        "ratio": "number",
        "weight": "number",
        "level": "category",
        "sat": "number",
    }
    return (
        "spss.csv",
        written(list(kinds), body),
        kinds,
        {"ratio": [round(r["crp"] / 100, 3) for r in R]},
    )


def totals(R):
    "A totals row first, subtotals after each 20, an average row last."
    body = [
        ("Total", f"{sum(r['weight'] for r in R):.1f}", f"{sum(r['crp'] for r in R):.1f}")
    ]
    for i, r in enumerate(R, 1):
        body.append((f"S{i:03}", r["weight"], r["crp"]))
        if i % 20 == 0:
            part = R[i - 20 : i]
            body.append(
                (
                    f"Subtotal {i // 20}",
                    f"{sum(r['weight'] for r in part):.1f}",
                    f"{sum(r['crp'] for r in part):.1f}",
                )
            )
    body.append(
        (
            "Average",
            f"{sum(r['weight'] for r in R) / 60:.1f}",
            f"{sum(r['crp'] for r in R) / 60:.1f}",
        )
    )
    kinds = {"site": "id", "weight": "number", "crp": "number"}
    return (
        "totals.csv",
        written(list(kinds), body),
        kinds,
        {"weight": [r["weight"] for r in R]},
    )


def percents(R):
    "Percent behind a blank with decimal commas, '<1 %', shares without a sign."
    body = [
        (
            r["id"],
            ("<1 %" if i == 2 else comma(f"{r['sat'] / 2:.1f}") + " %"),
            comma(f"{r['sat'] / 200:.3f}"),
            comma(r["weight"]),
        )
        for i, r in enumerate(R)
    ]
    kinds = {"probe": "id", "Anteil": "number", "Quote": "number", "Masse": "number"}
    return "prozent.csv", written(list(kinds), body, "\t", "utf-16", end="\r\n"), kinds, {}


def currency(R):
    "USD, CHF, £ and ¥ before the number; negative as -£ and (£)."
    body = [
        (
            f"INV-{i:04}",
            f"CHF {1000 * r['weight']:,.2f}",
            (f"(£{r['crp']:.2f})" if i % 3 == 0 else f"£{r['crp']:.2f}"),
            f"¥{int(r['sat'] * 1000):,}",
        )
        for i, r in enumerate(R)
    ]
    kinds = {"no": "id", "price": "number", "margin": "number", "yen": "number"}
    return (
        "money.csv",
        written(list(kinds), body),
        kinds,
        {"margin": [-r["crp"] if i % 3 == 0 else r["crp"] for i, r in enumerate(R)]},
    )


def units(R):
    "Units that differ from cell to cell: g and kg, cm and m."
    body = [
        (r["id"], f"{r['weight'] * 1000:.0f} g" if i % 2 else f"{r['weight']} kg", r["crp"])
        for i, r in enumerate(R)
    ]
    kinds = {"id": "id", "mass": "name", "crp": "number"}
    return "units.csv", written(list(kinds), body), kinds, {}


def trailing(R):
    "Trailing commas in the rows but not in the header; blanks around cells."
    out = "name , weight , crp\n" + "".join(
        f" x{i} , {r['weight']} , {r['crp']} ,\n" for i, r in enumerate(R)
    )
    return (
        "trailing.csv",
        out.encode(),
        {"name": "id", "weight": "number", "crp": "number"},
        {},
    )


def james(R):
    "ids like 007, phone numbers, postcodes, credit card groups, IBAN-like."
    body = [
        (
            f"{i:03}",
            f"0{761}{200000 + i * 37}",
            f"{79100 + (i % 4)}",
            f"4000 1234 5678 {1000 + i}",
            r["weight"],
            r["crp"],
        )
        for i, r in enumerate(R)
    ]
    kinds = {
        "agent": "id",
        "phone": "name",
        "PLZ": "category",
        "card": "name",
        "weight": "number",
        "crp": "number",
    }
    return "agents.csv", written(list(kinds), body), kinds, {}


def allmissing(R):
    "Columns that hold only words for nothing; a column with one value; a column of zeros."
    body = [(r["id"], "NA", "-", "", 0, r["weight"], r["crp"], "unknown") for r in R]
    kinds = {
        "id": "id",
        "a": "empty",
        "b": "empty",
        "c": "empty",
        "zero": "constant",
        "weight": "number",
        "crp": "number",
        "u": "constant",
    }
    return "nothing.csv", written(list(kinds), body), kinds, {}


def booleans(R):
    "Booleans: on/off, pos/neg, T/F, 1/0 as text, ✓/✗, present/absent."

    def b(x, p):
        return p[0] if x else p[1]

    P = [
        ("on", "off"),
        ("positive", "negative"),
        ("T", "F"),
        ("✓", "✗"),
        ("present", "absent"),
        ("Y", "N"),
    ]
    body = [(r["id"], r["weight"], r["crp"], *[b(r["smoker"], p) for p in P]) for r in R]
    kinds = {"id": "id", "weight": "number", "crp": "number"} | {
        f"b{j}": "category" if j == 4 else "yes/no" for j in range(6)
    }
    return "flags.csv", written(list(kinds), body), kinds, {}


def newlines(R):
    "Free text with line ends, tabs, quotes and separators; CR only line ends inside."
    body = [
        (r["id"], f'Visit:\r\n\t{r["note"]};\n"{r["ward"]}", 5,3', r["weight"], r["crp"])
        for r in R
    ]
    kinds = {"id": "id", "text": "text", "weight": "number", "crp": "number"}
    return "freetext.csv", written(list(kinds), body, ";", end="\r\n"), kinds, {}


def macline(R):
    "Old Mac line ends: a carriage return alone."
    body = [(r["id"], r["weight"], r["crp"]) for r in R]
    kinds = {"id": "id", "weight": "number", "crp": "number"}
    return (
        "mac.csv",
        written(list(kinds), body, end="\r"),
        kinds,
        {"crp": [r["crp"] for r in R]},
    )


def wide(R):
    rng = random.Random(2)
    d = 1000
    head = ["id"] + [f"v{j}" for j in range(d)]
    out = [",".join(head)]
    for r in R:
        out.append(
            r["id"]
            + ","
            + ",".join(
                f"{(r['weight'] / 10 if j < 3000 else 0) + rng.gauss(0, 1):.2f}"
                for j in range(d)
            )
        )
    return (
        "thousand.csv",
        ("\n".join(out) + "\n").encode(),
        {"id": "id"} | {f"v{j}": "number" for j in range(d)},
        {},
    )


def threeheads(R):
    "Three header rows: band, name, unit; merged cells leave gaps."
    txt = ",,Vitals,,Lab\nID,Ward,Weight,SpO2,CRP\n,,kg,%,mg/L\n" + "".join(
        f"{r['id']},{r['ward']},{r['weight']},{r['sat']},{r['crp']}\n" for r in R
    )
    return (
        "three.csv",
        txt.encode(),
        {
            "ID": "id",
            "Ward": "category",
            "Vitals Weight": "number",
            "Vitals SpO2": "number",
            "Lab CRP": "number",
        },
        {"Lab CRP": [r["crp"] for r in R]},
    )


def mergedward(R):
    "A merged first column: the ward is written once for each block of rows."
    S = sorted(R, key=lambda r: r["group"])
    body = [
        (f"Ward {r['group']}" if i % 20 == 0 else "", r["id"], r["weight"], r["crp"])
        for i, r in enumerate(S)
    ]
    kinds = {"Ward": "name", "id": "id", "weight": "number", "crp": "number"}
    return "blocks.csv", written(list(kinds), body), kinds, {}


def mixeddates(R):
    "Excel serial days beside dates; a date column with 31.12.9999 and 'ongoing'."
    body = []
    for i, r in enumerate(R):
        serial = (r["seen"] - dt.date(1899, 12, 30)).days
        body.append(
            (
                r["id"],
                serial if i % 6 == 0 else f"{r['seen']:%d.%m.%Y}",
                "31.12.9999"
                if i % 5 == 0
                else f"{r['seen'] + dt.timedelta(days=9):%d.%m.%Y}",
                "ongoing" if i % 7 == 0 else f"{r['seen']:%Y-%m-%d}",
                r["weight"],
                r["crp"],
            )
        )
    kinds = {
        "id": "id",
        "start": "date",
        "until": "date",
        "end": "date",
        "weight": "number",
        "crp": "number",
    }
    return "mixeddates.csv", written(list(kinds), body), kinds, {}


def fractions(R):
    "1.2E+03, a blood pressure 120/80, ranges 10-20, about ~5, plus signs."
    body = [
        (
            r["id"],
            f"{r['weight'] * 1000:.2E}",
            f"{100 + r['sat'] // 2}/{60 + r['sat'] // 4}",
            f"{int(r['crp'])}-{int(r['crp']) + 5}",
            f"~{r['crp']}" if i % 4 == 0 else f"+{r['crp']}",
            r["weight"],
        )
        for i, r in enumerate(R)
    ]
    kinds = {
        "id": "id",
        "sci": "number",
        "bp": "category",
        "range": "category",
        "approx": "number",
        "weight": "number",
    }
    return (
        "readings.csv",
        written(list(kinds), body),
        kinds,
        {"sci": [float(f"{r['weight'] * 1000:.2E}") for r in R]},
    )


def html(R):
    "Cells with markup, quotes and formulas, header with markup."
    body = [
        (f"=cmd|{i}", f"<b>{r['ward']}</b>", r["weight"], r["crp"]) for i, r in enumerate(R)
    ]
    kinds = {
        "<script>id</script>": "id",
        "<i>ward</i>": "category",
        "weight": "number",
        "crp": "number",
    }
    return "markup.csv", written(list(kinds), body), kinds, {}


MAKERS = (
    hospital, french, german2, sheets, spss, totals, percents, currency, units, trailing,
    james, allmissing, booleans, newlines, macline, wide, threeheads, mergedward,
    mixeddates, fractions, html,
)  # fmt: skip


def messy_exports(seed=7):
    "name of the file → bytes, kinds of columns, true groups, values of some columns."
    out = {}
    for make in MAKERS:
        R = rows(seed)
        name, data, kinds, values = make(R)
        if make is mergedward:
            R = sorted(R, key=lambda r: r["group"])
        out[name] = (data, kinds, [r["group"] for r in R], values)
    return out
