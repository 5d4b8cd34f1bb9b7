"""Tables of instruments, surveys, ledgers and clinics that the reader once read wrongly.

Each has twelve rows, or says why not. What stands here was read wrongly in silence, was
dropped without a word, or was refused without a repair, before it was repaired.
"""

import json

import numpy as np
import pytest

from csc_nb.tables import apply_recipe, number_cell, read_column, read_table

N = 12
R = range(N)


def size(i):
    return 5 + 10 * (i % 3) + (i * 7 % 5) / 2


def lines(head, row, sep=",", after=""):
    return "\n".join([head, *(sep.join(map(str, row(i))) for i in R)]) + "\n" + after


def comma(x):
    return str(x).replace(".", ",")


X = [size(i) for i in R]

# name → (text, {column: (kind, first values)})
TABLES = {
    "one column of decimal commas": (
        "Wert\n" + "".join(comma(x) + "\n" for x in X),
        {"Wert": ("number", X[:3])},
    ),
    "round amounts": (
        lines("Art;Preis;y", lambda i: (f"A{i}", f"€ {i + 5}0,-", i), ";"),
        {"Preis": ("number", [50, 60, 70])},
    ),
    "no header, words and numbers": (
        lines("a0,5.5,u", lambda i: (f"a{i + 1}", X[i], "uvw"[i % 3])).rsplit("\n", 2)[0],
        {"column 2": ("number", [5.5, 5, 16])},
    ),
    "pandas' numbered columns": (
        lines(",0,1", lambda i: (i, X[i], X[i] + 1)),
        {"": ("id", None), "1": ("number", [6, 17, 28])},
    ),
    "write.table of R": (
        lines('"len" "kind"', lambda i: (f'"{i + 1}"', X[i], f'"{"ab"[i % 2]} b"'), " "),
        {"": ("id", None), "kind": ("category", ["a b", "b b"])},
    ),
    "blanks of a printer": (
        lines("name     mass   temp", lambda i: (f"rat {i:<4}{X[i]:7.1f}{i:7.1f}",)),
        {"name": ("id", ["rat 0"]), "temp": ("number", [0, 1, 2])},
    ),
    "a plate reader": (
        "Software,3.1\nPlate,Plate 1\nDate,11/19/2024\n\n"
        "Procedure\nType,96 WELL\n\nResults\n"
        + lines("Well,OD,GFP", lambda i: (f"A{i + 1}", X[i], i)),
        {"Well": ("id", ["A1"]), "OD": ("number", X[:3])},
    ),
    "comments above, inside and below": (
        "# made by me\n# units: um, g, s\n"
        + lines("id,x,y", lambda i: (f"s{i}", X[i], i)).replace("s5,", "# run 2\ns5,")
        + "# end\n",
        {"x": ("number", X[:3])},
    ),
    "a note with commas below": (
        lines(
            "region,x,y", lambda i: (f"R{i}", X[i], i), after="Note: rounded, see, p. 3\n"
        ),
        {"y": ("number", [0, 1, 2])},
    ),
    "headings between the rows": (
        lines("id,x,y", lambda i: (f"a{i}", X[i], i)).replace("a6,", "Cases,,\na6,"),
        {"y": ("number", [0, 1, 2])},
    ),
    "a sum without a name": (
        lines("id,x,y", lambda i: (f"a{i}", X[i], i), after=f",{sum(X)},{sum(R)}\n"),
        {"x": ("number", X[:3])},
    ),
    "a text with tabs that is called xls": (
        lines("id\tx\ty", lambda i: (f"a{i}", X[i], i), "\t"),
        {"x": ("number", X[:3])},
    ),
    "apostrophes of Excel": (
        lines("n,zip,x", lambda i: (f"'0{i}", f"'0{100 + i % 3}", f"'{X[i]}")),
        {"n": ("id", ["00", "01"]), "zip": ("category", ["0100"]), "x": ("number", X[:3])},
    ),
    "errors in six languages": (
        lines(
            "id,x,y",
            lambda i: (
                f"a{i}",
                "#NV #WERT! #SPILL! #¡VALOR! #N/D".split()[i % 5] if i % 2 else X[i],
                i,
            ),
        ),
        {"x": ("number", [5, None, 27])},
    ),
    "a ledger": (
        lines(
            "id;x;y", lambda i: (f"a{i}", "$ -" if i == 1 else f"$({i}.50)", f"({i}%)"), ";"
        ),
        {"x": ("number", [-0.5, 0, -2.5]), "y": ("number", [0, -1, -2])},
    ),
    "parts": (
        lines(
            "id;inch;height;run;lap;lat;mark",
            lambda i: (
                f"a{i}",
                ["1/2", "3/4", "1 1/2"][i % 3],
                f"5'{i}\"",
                f"{i + 1}h 30m",
                f"1:0{i % 9}.5",
                f"47°{i}'30\"S",
                f"{i}/20",
            ),
            ";",
        ),
        {
            "inch": ("number", [0.5, 0.75, 1.5]),
            "height": ("number", [60, 61, 62]),
            "run": ("number", [1.5, 2.5, 3.5]),
            "lap": ("number", [60.5, 61.5, 62.5]),
            "lat": ("number", [-47 - 1 / 120]),
            "mark": ("number", [0, 1, 2]),
        },
    ),
    "units of one word and more": (
        lines(
            "id;age;bmi;gfr;wbc;dose",
            lambda i: (
                f"a{i}",
                f"{i + 1} year{'s' * (i > 0)}",
                f"{X[i]} kg/m2",
                f"{X[i]} ml/min/1.73m2",
                f"{X[i]} x10^9/L",
                "½¼2"[i % 3],
            ),
            ";",
        ),
        {
            "age": ("number", [1, 2, 3]),
            "bmi": ("number", X[:3]),
            "gfr": ("number", X[:3]),
            "wbc": ("number", X[:3]),
            "dose": ("number", [0.5, 0.25, 2]),
        },
    ),
    "ages of children": (
        lines(
            "id,age,x", lambda i: (f"a{i}", ["6 months", "2 years", "18 mo"][i % 3], X[i])
        ),
        {"age": ("number", [182.625, 730.5, 547.875])},
    ),
    "flags of a laboratory": (
        lines(
            "id,K,Cd,g",
            lambda i: (
                f"a{i}",
                f"{X[i]} {'HL'[i % 2]}" if i % 3 else X[i],
                "<LOD" if i % 4 == 1 else X[i],
                ["-", "+", "++"][i % 3],
            ),
        ),
        {
            "K": ("number", X[:3]),
            "Cd": ("number", [5, None, 27]),
            "g": ("category", ["-", "+", "++"]),
        },
    ),
    "plus and minus": (
        lines("id,test,x", lambda i: (f"a{i}", "+-"[i % 2], X[i])),
        {"test": ("yes/no", ["yes", "no"])},
    ),
    "boxes that were ticked": (
        lines(
            "id,Which? Phone,Which? Laptop,Q1_1",
            lambda i: (f"a{i}", "Phone" * (i % 2), "Laptop" * (i % 3 > 0), "1" * (i % 2)),
        ),
        {"Which? Phone": ("yes/no", ["no", "yes"]), "Q1_1": ("yes/no", ["no", "yes"])},
    ),
    "months, quarters, weeks, zones": (
        lines(
            "id;m;q;w;t;k",
            lambda i: (
                f"a{i}",
                f"Mar {2010 + i}",
                f"Q2 {2010 + i}",
                f"2024-W{i + 1:02}",
                f"2024/03/{i + 1:02} 9:30:00 AM GMT+1",
                f"2024年3月{i + 1}日",
            ),
            ";",
        ),
        {
            "m": ("date", [14669]),
            "q": ("date", [14700]),
            "w": ("date", [19723, 19730]),
            "t": ("date", [19783 + 9.5 / 24]),
            "k": ("date", [19783, 19784]),
        },
    ),
    "days as numbers": (
        lines(
            "id,admission date,timestamp", lambda i: (f"a{i}", 45300 + i, 1700006400 + i)
        ),
        {"admission date": ("date", [19731, 19732]), "timestamp": ("date", [19676])},
    ),
    "years of two digits": (
        lines("id,born,x", lambda i: (f"a{i}", f"{i + 10}.03.{40 + i}", X[i])),
        {"born": ("date", [-10889])},
    ),
    "codes": (
        lines("pid,sex,ward,x", lambda i: (f"a{i}", i % 2 + 1, 101 + 100 * (i % 3), X[i])),
        {"sex": ("category", ["1", "2"]), "ward": ("category", ["101", "201", "301"])},
    ),
    "patients with two visits": (
        lines("PatientID,visit,x", lambda i: (100 + i // 2, i % 2 + 1, X[i])),
        {"PatientID": ("name", None), "x": ("number", X[:3])},
    ),
    "Arabic and wide digits": (
        lines(
            "id;x;y",
            lambda i: (f"a{i}", f"١{i % 9}٫٥".translate(AR), f"１{i % 9}．５"),
            ";",
        )
        if (AR := {48 + d: 0x660 + d for d in range(10)})
        else "",
        {"x": ("number", [10.5, 11.5, 12.5]), "y": ("number", [10.5, 11.5, 12.5])},
    ),
    "money in words, places": (
        lines(
            "id;rev;place;kids",
            lambda i: (
                f"a{i}",
                ["$2 million", "$850 thousand"][i % 2],
                f"{i + 1}" + ("st nd rd".split() + ["th"] * N)[i],
                ["1", "2", "3+"][i % 3],
            ),
            ";",
        ),
        {
            "rev": ("number", [2e6, 8.5e5]),
            "place": ("number", [1, 2, 3]),
            "kids": ("number", [1, 2, 3]),
        },
    ),
    "prose with a comma in each line": (
        "comment\n" + "".join(f"yes it was {'good' * (i % 2)}, I think {i}\n" for i in R),
        {"comment": ("text", ["yes it was , I think 0"])},
    ),
    "commas inside one column": (
        "comment\n"
        + "".join(
            f"{['the food was good, I think so', 'the room was cold and wet'][i % 2]} {i}\n"
            for i in R
        ),
        {"comment": ("text", ["the food was good, I think so 0"])},
    ),
}


def read(tmp_path, text, name="t.csv", **how):
    path = tmp_path / ("t.xls" if "xls" in name else "t.csv")
    path.write_text(text, encoding="utf-8")
    return read_table(path, **how)


def agree(found, want):
    for a, b in zip(found, want):
        assert (a is None) == (b is None) and (b is None or a == pytest.approx(b)), found


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_what_people_meant(name, tmp_path):
    text, columns = TABLES[name]
    t = read(tmp_path, text, name)
    assert t.n == N and np.isfinite(t.X).all()
    for header, (kind, values) in columns.items():
        assert t[header].kind == kind, (header, t[header].kind, t[header].alarms)
        if values and kind != "id":
            agree(t[header].values, values)
        elif values:
            assert t.ids[: len(values)] == values
    again = apply_recipe(
        json.loads(json.dumps(t.recipe)), tmp_path / ("t.xls" if "xls" in name else "t.csv")
    )
    np.testing.assert_allclose(again.X, t.X, atol=1e-9)


SAYS = {
    "two visits": (TABLES["patients with two visits"][0], "'100' names lines 2 and 3"),
    "rounded ids": (
        lines("barcode,x,y", lambda i: ("4.00639E+12", X[i], i)),
        "has rounded these ids",
    ),
    "a range and a date": (
        lines("id,age,x", lambda i: (f"a{i}", ["5-9", "12-Oct"][i % 2], X[i])),
        "'12-Oct' in line 3 beside '5-9'",
    ),
    "some grams": (
        lines("id,m,x", lambda i: (f"a{i}", f"{X[i] * 1000} g" if i % 4 == 1 else X[i], i)),
        "has a unit and others have none",
    ),
    "two years": (TABLES["years of two digits"][0], "'10.03.40' is in 1940"),
    "addresses": (
        lines("id,ip,x", lambda i: (f"a{i}", f"10.0.0.{i}", X[i])),
        "begin with digits",
    ),
    "a heading": (TABLES["headings between the rows"][0], "holds only 'Cases'"),
    "mostly gaps": (
        lines("id,x,y", lambda i: (f"a{i}", X[i] if i > 8 else "", i)),
        "9 of 12 cells without a number",
    ),
    "infinite": (
        lines("id,x,y", lambda i: (f"a{i}", "Inf" if i == 3 else X[i], i)),
        "'Inf' in line 5",
    ),
}


@pytest.mark.parametrize("name", SAYS)
def test_what_was_done_is_said(name, tmp_path):
    text, says = SAYS[name]
    assert says in str(read(tmp_path, text))


REFUSED = {
    "an open quotation mark": (
        lines("id,x,y", lambda i: (f"a{i}", '"open' if i == 3 else "nail", i)),
        "quotation mark in line 5 .* seems to be open: what follows, to line 13",
    ),
    "a mark that swallows rows": (
        lines("id,x,y", lambda i: (f"a{i}", {3: '"open', 8: 'shut"'}.get(i, "nail"), i)),
        "quotation mark in line 5",
    ),
    "a second table": (
        lines("id,x,y", lambda i: (f"a{i}", X[i], i), after="\n")
        + lines("id,p,q", lambda i: (f"b{i}", X[i], i)),
        "a second table seems to begin in line 15",
    ),
    "on its side": (
        "\n".join(
            f"{name}," + ",".join(map(str, row))
            for name, row in (
                ("sample", [f"s{i}" for i in R]),
                ("mass", X),
                ("ward", "AB" * 6),
            )
        ),
        "lie on its side",
    ),
    "two currencies": (
        lines("id,price", lambda i: (f"a{i}", f"{'€$'[i % 2]}{X[i]}")),
        "units differ",
    ),
    "header or data": (
        lines("gene,3,5", lambda i: (f"G{i}x", X[i], i)),
        "--header yes, --header no",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_repair(name, tmp_path):
    text, says = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        read(tmp_path, text)


def test_polish_is_not_taken_for_western_european(tmp_path):
    text = lines("miasto,x", lambda i: (["Łódź", "Wrocław"][i % 2] + str(i), X[i]))
    (tmp_path / "t.csv").write_bytes(text.encode("cp1250"))
    with pytest.raises(ValueError, match="encoding='cp1250'"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", encoding="cp1250").ids[0] == "Łódź0"


def test_zero_bytes_at_the_end_of_a_file(tmp_path):
    text = lines("id,x,y", lambda i: (f"a{i}", X[i], i)).encode()
    (tmp_path / "t.csv").write_bytes(text + bytes(512))
    assert read_table(tmp_path / "t.csv").n == N


def test_an_empty_answer_of_new_rows_is_no_no(tmp_path):
    "Yes, no and a gap: the gap is a gap when the model is applied, too; a tick is a tick."
    t = read_table({"s": ["yes", "no", ""] * 4, "k": ["x", "", "x"] * 4, "v": list(R)})
    new = apply_recipe(t.recipe, {"s": ["", "no"], "k": ["", "x"], "v": [1, 2]})
    assert new["s"].values == [None, "no"] and new["k"].values == ["no", "yes"]
    np.testing.assert_allclose(new.X[0, 1:3], t.X[2, 1:3])


def test_the_index_of_a_frame_names_its_rows():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": X}, index=[f"p{i}" for i in R])
    assert read_table(frame).ids[:2] == ["p0", "p1"]
    odd = read_table(frame.set_axis(range(100, 100 + N)).rename_axis("patient"))
    assert odd.ids[0] == "100" and odd.X.shape[1] == 1
    assert read_table(frame.reset_index(drop=True)).ids is None
    twice = pd.DataFrame([[1, 2], [3, 5]], columns=["x", "x"])
    assert [c.name for c in read_table(twice).columns] == ["x", "x (2)"]


def test_years_and_months_as_headers_of_excel(tmp_path):
    import datetime as dt

    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["land", 2019, 2020, dt.datetime(2021, 1, 1)])
    for i in R:
        book.active.append([f"L{i}", X[i], i, X[i] / 3])
    book.save(tmp_path / "t.xlsx")
    t = read_table(tmp_path / "t.xlsx")
    assert t.n == N and [c.name for c in t.columns][:3] == ["land", "2019", "2020"]


def test_a_formula_without_a_value_is_refused(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["id", "x", "y"])
    for i in R:
        book.active.append([f"a{i}", X[i], f"=B{i + 2}*2"])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(
        ValueError, match="formula '=B2.2' in line 2, column 3 has no value"
    ):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    "cell, x",
    [
        ("1.5 x 10^3", 1500),
        ("1,5×10³", 1500),
        ("$(1,234.00)", -1234),
        ("R$ 1.234,56", 1234.56),
        ("(5)", -5),
        ("5-", -5),
        ("12.–", 12),
        ("1½", 1.5),
        ("−3", -3),
        ("88 mm Hg", 88),
    ],
)
def test_one_cell(cell, x):
    assert number_cell(cell).value(".") == pytest.approx(x)


@pytest.mark.parametrize(
    "cell", ["0001-A", "1-2", "10-Oct", "7—", "1.2.2024", "12:30", "5 6 7 8"]
)
def test_no_number(cell):
    assert number_cell(cell) is None


def test_thousands_of_switzerland_are_no_feet():
    c = read_column("x", ["5'000.50", "16'000.50", "7'200.00"])
    assert c.values == [5000.5, 16000.5, 7200.0]


def test_ids_with_a_point_and_a_zero_are_whole_numbers(tmp_path):
    t = read(tmp_path, lines("id,x,y", lambda i: (f"{1000 + i}.0", X[i], i)))
    assert t.ids[:2] == ["1000", "1001"]
    t = read(tmp_path, lines("id,x,y", lambda i: (f"{i}.0" if i else "0.5", X[i], i)))
    assert t.ids is None or t.ids[1] == "1.0"
