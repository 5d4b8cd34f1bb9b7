"""Tables as people have them: right kinds and numbers, or an error that names the cell."""

import datetime as dt
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from messy_exports import messy_exports
from messy_tables import messy_tables, more_messy_tables, rows

from csc_nb.tables import (
    apply_recipe,
    build_features,
    check_recipe,
    date_cell,
    has_header,
    number_cell,
    read_column,
    read_table,
    unseen_words,
)

MORE = more_messy_tables() | messy_exports()
TABLES = messy_tables() | {name: made[:3] for name, made in MORE.items()}


@pytest.fixture(params=list(TABLES))
def messy(request, tmp_path):
    data, kinds, y = TABLES[request.param]
    path = tmp_path / request.param
    path.write_bytes(data)
    return path, kinds, y


def test_messy_tables_have_the_right_kinds(messy):
    path, kinds, y = messy
    t = read_table(path)
    assert {c.name: c.kind for c in t.columns} == kinds
    assert t.n == 60 and t.X.shape[0] == 60 and np.isfinite(t.X).all()
    used = [c.name for c in t.columns if c.used]
    for name in used:
        assert any(f.startswith(name) for f in t.feature_names)


def test_saved_and_applied_to_the_same_rows_nothing_changes(messy):
    path, _, _ = messy
    t = read_table(path)
    again = apply_recipe(json.loads(json.dumps(t.recipe)), path)
    np.testing.assert_allclose(again.X, t.X, atol=1e-12)
    assert again.ids == t.ids


def test_the_numbers_are_the_true_ones(tmp_path):
    "Every way of writing gives the numbers that were written."
    R = rows()
    expect = {
        ("german.csv", "Körpergewicht"): [r["weight"] for r in R],
        ("german.csv", "Sättigung"): [r["sat"] for r in R],
        ("excel.txt", "income"): [round(100 * r["weight"], 2) for r in R],
        ("excel.txt", "balance"): [round(100 * r["weight"] - 7000, 2) for r in R],
        ("american.csv", "steps"): [round(100 * r["weight"]) for r in R],
        ("swiss.csv", "salary"): [round(1000 * r["weight"]) for r in R],
        ("swiss.csv", "crp"): [r["crp"] for r in R],
        ("titled.csv", "crp"): [r["crp"] for r in R],
        ("bare.dat", "column 1"): [r["weight"] for r in R],
    }
    for (file, name), want in expect.items():
        (tmp_path / file).write_bytes(TABLES[file][0])
        np.testing.assert_allclose(read_table(tmp_path / file)[name].values, want)


@pytest.mark.parametrize("name", list(MORE))
def test_the_values_of_thirty_more_tables_are_the_true_ones(name, tmp_path):
    data, _, _, values = MORE[name]
    (tmp_path / name).write_bytes(data)
    t = read_table(tmp_path / name)
    for column, want in values.items():
        found = t[column].values
        if isinstance(want[0], str):
            assert found == want, column
        else:
            found, want = np.array(found, float), np.array(want, float)
            np.testing.assert_allclose(found, want, atol=1e-9, err_msg=column)


@pytest.mark.parametrize(
    "name, says",
    [
        ("units.csv", "units differ (kg, g)|units differ (g, kg)"),
        ("mixeddates.csv", "9999-12-31 stands in 12 cells"),
        ("mixeddates.csv", "'45297' in line 2"),
        ("readings.csv", "Split the column in two"),
        ("blocks.csv", "merged cells? Fill them"),
        ("totals.csv", "4 rows with totals left out: first is line 2"),
        ("agents.csv", "the header says that these are codes"),
        ("three.csv", "two lines of headers joined"),
    ],
)
def test_what_was_done_with_an_export_is_said(name, says, tmp_path):
    (tmp_path / name).write_bytes(MORE[name][0])
    told = str(read_table(tmp_path / name))
    assert any(part in told for part in says.split("|"))


def test_a_row_called_a_total_stays_when_it_holds_no_sum(tmp_path):
    lines = [f"p{i},{i},{i * i % 17}" for i in range(12)]
    lines[4] = "Total recall,3.5,9"
    (tmp_path / "films.csv").write_text("film,x,y\n" + "\n".join(lines) + "\n")
    t = read_table(tmp_path / "films.csv")
    assert t.n == 12 and "line 6 is called 'Total recall' and counts as a row" in str(t)


def test_ten_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(12, 10_000)), 1)
    lines = [",".join(["id", *(f"v{j}" for j in range(10_000))])]
    lines += [",".join([f"r{i}", *map(str, row)]) for i, row in enumerate(X.tolist())]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    t = read_table(tmp_path / "wide.csv")
    assert len(t.columns) == 10_001 and t.X.shape == X.shape
    np.testing.assert_array_equal(t["v9999"].values, X[:, -1])


@settings(max_examples=300, deadline=None)
@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from([".", ","]))
def test_any_amount_in_either_way_of_writing(x, decimal):
    text = f"{x:,.2f}"
    if decimal == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    assert number_cell(text).value("?") == pytest.approx(float(x))


@settings(max_examples=200, deadline=None)
@given(st.dates(min_value=dt.date(1930, 1, 1)))
def test_any_day_in_any_order(day):
    want = day.toordinal() - 719163
    for form, order in (("%Y-%m-%d", "dmy"), ("%d.%m.%Y", "dmy"), ("%m/%d/%Y", "mdy")):
        text = f"{day.year:04}" + day.strftime(form)[4:] if form[1] == "Y" else None
        text = text or day.strftime(form[:-2]) + f"{day.year:04}"
        assert date_cell(text).day(order) == want


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=2, max_size=12))
def test_no_text_breaks_a_column(cells):
    c = read_column("x", cells)
    assert len(c.values) == len(cells) and c.kind


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_no_file_gives_a_raw_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("t") / "any.csv"
    path.write_bytes(data)
    try:
        read_table(path)
    except ValueError as e:
        assert len(str(e)) > 10


def test_a_header_of_years_is_a_header_only_above_other_numbers():
    assert has_header([["2019", "2020"], ["3.1", "4"]])
    assert not has_header([["3.1", "4"], ["5", "6"]])
    assert has_header([["id", "x"], ["1", "2"]])
    with pytest.raises(ValueError, match="--header"):
        has_header([["2019", "2020"], ["2021", "4"]])


@pytest.mark.parametrize("how", ["words", "mixed", "alone"])
def test_days_and_months_that_cannot_be_told_apart_are_named(how):
    if how == "mixed":
        with pytest.raises(ValueError, match="13/02/2024.*02/14/2024"):
            read_column("d", ["13/02/2024", "02/14/2024", "01/02/2024"])
    elif how == "alone":
        c = read_column("d", ["03/04/2024", "05/06/2024"])
        assert c.kind == "date" and "03/04/2024" in c.alarms[0]
        assert read_column("d", c.shown, "date-mdy").values[0] == c.values[0] - 30
    else:
        assert read_column("d", ["3 May 2024", "Dec 24, 2024"]).alarms == []


def test_an_open_comma_beside_points_and_commas_is_an_error():
    with pytest.raises(ValueError, match="column 'x'.*'1,234' in row 2.*--decimal"):
        read_column("x", ["1,5", "2.5", "1,234"])
    assert read_column("x", ["1,5", "2.5", "1,234"], decimal=",").values[2] == 1.234


def test_cells_that_are_lost_are_named():
    c = read_column("x", ["1", "2", "3", "4", "see note"], where=lambda i: f"line {i + 2}")
    assert c.kind == "number" and c.values[-1] is None
    assert "'see note' in line 6" in c.alarms[0]
    with pytest.raises(ValueError, match="cannot be read as number: first is 'a' in row 0"):
        read_column("x", ["a", "b", "3"], "number")


def test_words_that_mean_nothing_are_missing_and_zero_is_not():
    c = read_column("x", ["0", "n/a", "NaN", "-", "", "5", "#DIV/0!", "7"])
    assert c.values == [0.0, None, None, None, None, 5.0, None, 7.0]
    assert read_column("x", ["none", "some", "none", "some"]).values[0] == "none"


def test_ids_keep_their_zeros_and_are_never_numbers(tmp_path):
    p = tmp_path / "t.csv"
    p.write_text("id,x\n007,1\n7,2\n07,5\n")
    assert read_table(p).ids == ["007", "7", "07"]
    p.write_text("id,x\n1,1\n1,2\n")
    with pytest.raises(ValueError, match="occur twice: first is '1'.*--id none"):
        read_table(p)
    assert read_table(p, id=False).ids is None
    p.write_text("id,x\na,1\n,2\n")
    with pytest.raises(ValueError, match="without an id.*line 3"):
        read_table(p)


def test_one_field_too_many_names_the_line(tmp_path):
    p = tmp_path / "t.csv"
    p.write_text("id,x,y\na,1,2\nb,3,4,5\n")
    with pytest.raises(ValueError, match="does not have 3 fields: first is line 3 with 4"):
        read_table(p)
    p.write_text("id,x,y\na,1,2,,\nb,3,4,,\n")
    assert read_table(p).n == 2


def test_names_are_not_features():
    names = [f"Person {i % 10}" for i in range(30)]
    t = read_table({"name": names, "x": list(range(30))})
    assert t["name"].kind == "name" and t.feature_names == ["x"]
    ward = read_table({"ward": [f"W{i % 5}" for i in range(30)], "x": list(range(30))})
    assert ward["ward"].used and ward.X.shape == (30, 6)


def test_the_user_is_right(tmp_path):
    p = tmp_path / "t.csv"
    p.write_text("id,code,x\na,1,3\nb,2,4\nc,1,9\n")
    t = read_table(p, kinds={"code": "category"})
    assert t.feature_names == ["x", "code = 1", "code = 2"]
    assert read_table(p, columns=["x"]).feature_names == ["x"]
    with pytest.raises(ValueError, match="No column 'cod'.*did you mean 'code'"):
        read_table(p, columns=["cod"])
    with pytest.raises(ValueError, match="say number, date"):
        read_table(p, kinds={"code": "colour"})
    with pytest.raises(ValueError, match="No column of t.csv can be used.*--as"):
        read_table(p, kinds={"code": "ignore", "x": "ignore"})


def test_encodings(tmp_path):
    text = "id;größe\nä;1,5\nö;2,5\n"
    p = tmp_path / "t.csv"
    for codec in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"):
        p.write_bytes(text.encode(codec))
        t = read_table(p)
        assert t.ids == ["ä", "ö"] and t["größe"].values == [1.5, 2.5], codec
    p.write_bytes("имя,рост\nИван,180\nПётр,175\n".encode("cp1251"))
    with pytest.raises(ValueError, match="t.csv is not UTF-8.*cp1251"):
        read_table(p)
    assert read_table(p, encoding="cp1251")["рост"].values == [180, 175]
    with pytest.raises(ValueError, match="begins like a spreadsheet"):
        p.write_bytes(b"PK\x03\x04 rest")
        read_table(p)


def test_new_rows(tmp_path):
    p, q = tmp_path / "t.csv", tmp_path / "q.csv"
    p.write_text(
        "id,w,ward,seen\n"
        + "".join(f"r{i},{i / 2},{'AB'[i % 2]},{i + 1}.2.2024\n" for i in range(12))
    )
    t = read_table(p)
    q.write_text("seen;ward;w;more\n1.2.2024;A;0,0;1\n2.2.2024;C;0,5;1\n")
    new = apply_recipe(t.recipe, q)
    np.testing.assert_allclose(new.X[0], t.X[0])
    assert unseen_words(new) == {"ward": ["C"]} and "more" in new.notes[-1]
    assert new.X[1, 2:].tolist() == [0, 0]
    q.write_text("seen,ward\n1.2.2024,A\n")
    with pytest.raises(ValueError, match="lacks 1 column that the model uses: 'w'"):
        apply_recipe(t.recipe, q)
    q.write_text("seen,ward,w\n1.2.2024,A,heavy\n")
    with pytest.raises(ValueError, match="column 'w'.*'heavy' in line 2"):
        apply_recipe(t.recipe, q)


def change(r, path, value):
    r = json.loads(json.dumps(r))
    at = r
    for k in path[:-1]:
        at = at[k]
    at[path[-1]] = value
    return r


@pytest.mark.parametrize(
    "path, value",
    [
        (["format"], "pickle"),
        (["version"], 2),
        (["number", "scale", 0], 0),
        (["number", "mean"], [1.0, 2.0, 3.0, 4.0, 5.0]),
        (["number", "median", 0], float("nan")),
        (["number", "columns", 0], "nobody"),
        (["category", "values", 0], ["b", "a"]),
        (["text"], {"a": 1}),
        (["columns", 0], "x"),
    ],
)
def test_a_changed_recipe_is_refused(path, value):
    t = read_table({"x": [1.0, 2, 3, 4], "c": list("abab")})
    with pytest.raises(ValueError, match="not a recipe"):
        check_recipe(change(t.recipe, path, value))


def test_the_features_are_scikit_learns_own():
    "The same numbers as the transformers give when they are fitted directly."
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 2)).round(3)
    word = rng.choice(list("abc"), 40)
    gap = A.copy()
    gap[3, 0] = np.nan
    data = dict(x=[None if np.isnan(v) else v for v in gap[:, 0]], y=A[:, 1], c=word)
    t = read_table(data)
    number = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    direct = np.c_[
        number.fit_transform(gap), OneHotEncoder().fit_transform(word[:, None]).toarray()
    ]
    np.testing.assert_allclose(t.X, direct)
    assert isinstance(build_features(t.recipe), ColumnTransformer)


def test_excel_and_parquet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "cover"
    sheet = book.create_sheet("data")
    sheet.append(["id", "x", "seen", "ok", "code"])
    for i in range(6):
        sheet.append([i + 1, i / 2, dt.datetime(2024, 1, i + 1), i % 2 == 0, f"0{i % 2}"])
    book.save(tmp_path / "t.xlsx")
    t = read_table(tmp_path / "t.xlsx")
    kinds = {c.name: c.kind for c in t.columns}
    assert kinds == dict(id="id", x="number", seen="date", ok="yes/no", code="category")
    assert t.ids == list("123456") and "cover" in t.notes[0]
    with pytest.raises(ValueError, match="no sheet 'no'"):
        read_table(tmp_path / "t.xlsx", sheet="no")
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(
        pa.table({"id": [1, 2], "x": [1.5, None], "y": [2, 3]}), tmp_path / "t.parquet"
    )
    t = read_table(tmp_path / "t.parquet")
    assert t["y"].values == [2, 3] and t["x"].kind == "constant"


def test_a_missing_reader_is_named(tmp_path, monkeypatch):
    for module, ending in (("openpyxl", "xlsx"), ("pyarrow.parquet", "parquet")):
        monkeypatch.setitem(sys.modules, module, None)
        (tmp_path / f"t.{ending}").write_bytes(b"PK")
        with pytest.raises(ImportError, match=f"t.{ending}: .*pip install"):
            read_table(tmp_path / f"t.{ending}")
    (tmp_path / "t.xls").write_bytes(b"")
    with pytest.raises(ValueError, match="Save it as .xlsx"):
        read_table(tmp_path / "t.xls")


def test_data_frames_and_records():
    pd = pytest.importorskip("pandas")
    df = pd.DataFrame({"x": [1.5, None, 3], "c": pd.Categorical(["a", "b", "a"])})
    t = read_table(df)
    assert t["x"].values == [1.5, None, 3.0] and t["c"].kind == "category"
    assert read_table([{"x": 1}, {"x": 2, "y": "a"}])["y"].values == [None, "a"]
    assert list(read_table(df).frame().columns) == ["x", "c"]
    pl = pytest.importorskip("polars")
    assert read_table(pl.DataFrame({"x": [1, 2, 4]})).X.shape == (3, 1)
    with pytest.raises(TypeError, match="not ndarray"):
        read_table(np.zeros((2, 2)))


def test_tables_that_were_not_thought_of(tmp_path):
    "Found by trying sixteen further tables after the reader was written."
    p = tmp_path / "t.csv"
    p.write_text("when,x\n2024/03/01 9:11:05 PM MEZ,1\n2024/03/02 9:12:00 AM CET,2\n")
    assert read_table(p)["when"].kind == "date"
    p.write_text("| name | a |\n|---|:--:|\n| u | 1 |\n| v | 4 |\n| w | 9 |\n")
    t = read_table(p)
    assert t.n == 3 and t["a"].values == [1, 4, 9] and "dashes" in " ".join(t.notes)
    p.write_text("'id','x'\n'a','1,5'\n'b','2,5'\n")
    t = read_table(p)
    assert t.ids == ["a", "b"] and t["x"].values == [1.5, 2.5]
    for text in ('[{"a": 1}, {"a": 2}]', '{"a": [1, 2]}', "<html><table>"):
        p.write_text(text)
        with pytest.raises(ValueError, match="JSON, HTML or XML"):
            read_table(p)


def table_of(tmp_path, text, **how):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return read_table(tmp_path / "t.csv", **how)


def test_a_first_row_of_words_is_data_unless_every_number_below_speaks_against_it(tmp_path):
    "A header line in the data needs more evidence than one odd cell."
    rows = "".join(f"p{i},{i * 7 % 11},{i % 2}\n" for i in range(9))
    t = table_of(tmp_path, "id,x,y\np99,clotted,1\n" + rows)
    assert t.n == 10 and t["x"].values[0] is None and "'clotted' in line 2" in t.alarms[0]
    t = table_of(tmp_path, "id,x,y\n,mg,cm\n" + rows)
    assert t.n == 9 and "units" in t.notes[0] and t.lines[0] == 3
    t = table_of(tmp_path, ",size,\nid,x,y\n" + rows)
    assert [c.name for c in t.columns] == ["id", "x", "y"]  # a title, not a band
    t = table_of(
        tmp_path, "colour,shape\nred,round\nblue,square\n" * 1 + "red,square\n" * 6
    )
    assert t.n == 8


def test_a_table_that_r_wrote_and_one_that_was_printed(tmp_path):
    rows = [f'"r{i}" {i * 3 % 7}.5 {i % 4}' for i in range(8)]
    t = table_of(tmp_path, '"x" "y"\n' + "\n".join(rows) + "\n", sep=" ")
    assert t.n == 8 and t["x"].kind == "number" and t["y"].values[5] == 1
    body = [f"p{i},{i * 3 % 7}" for i in range(8)]
    t = table_of(tmp_path, "\n".join(["id,x", *body[:4], "id,x", *body[4:]]))
    assert t.n == 8 and t["x"].kind == "number" and "stands again in line 6" in t.notes[0]


def test_capitals_make_no_category_and_alleles_stay_apart(tmp_path):
    words = ["North", "north", "NORTH", "South", "south", "South"] * 3
    lines = [f"{w},{'AA Aa aa'.split()[i % 3]},{i % 5}" for i, w in enumerate(words)]
    t = table_of(tmp_path, "ward,gene,x\n" + "\n".join(lines))
    assert set(t["ward"].values) == {"NORTH", "South"} and "capitals" in t["ward"].notes[0]
    assert set(t["gene"].values) == {"AA", "Aa", "aa"}
    new = apply_recipe(t.recipe, {"ward": ["SOUTH"], "gene": ["aa"], "x": [1]})
    assert new["ward"].values == ["South"] and not unseen_words(new)


def test_one_row_is_refused_for_clustering_and_taken_for_prediction(tmp_path):
    with pytest.raises(ValueError, match="has 1 row: two are needed"):
        table_of(tmp_path, "id,x\na,1\n")
    t = table_of(tmp_path, "id,x\na,1\nb,2\n")
    assert apply_recipe(t.recipe, {"id": ["c"], "x": [3]}).X.shape == (1, 1)


def test_merged_cells_are_named(tmp_path):
    lines = [f"{'ABC'[i // 5] if i % 5 == 0 else ''},{i * 7 % 11}" for i in range(15)]
    assert "merged cells?" in table_of(tmp_path, "ward,x\n" + "\n".join(lines)).alarms[0]


# what a further forty tables showed ---------------------------------------------------


def lines_of(head, row, n=12):
    return "\n".join([head, *(row(i) for i in range(n))]) + "\n"


def test_thousands_and_millions_beside_plain_numbers(tmp_path):
    "1.1K beside 900 is 1100, and that is said; alone, a k is a unit."
    views = ["900", "1.1K", "2.5M"]
    t = table_of(tmp_path, lines_of("id,views,x", lambda i: f"p{i},{views[i % 3]},{i % 5}"))
    assert t["views"].values[:3] == [900.0, 1100.0, 2.5e6]
    assert "'1.1K' (line 3)" in t["views"].alarms[0]
    t = table_of(tmp_path, lines_of("id,pay", lambda i: f"p{i},{i + 1.5}k"))
    assert t["pay"].values[1] == 2.5 and not t["pay"].alarms
    t = table_of(tmp_path, lines_of("id,size,x", lambda i: f"p{i},{i}{'k m'.split()[i % 2]},{i % 5}"))  # fmt: skip
    assert not t["size"].used and "units differ" in t["size"].alarms[0]  # m: metres?


def test_measured_with_an_error_and_with_something_behind(tmp_path):
    t = table_of(tmp_path, lines_of("id,dose,lat", lambda i: f"p{i},{i}.2±0.5,{i}.5° N"))
    assert t["dose"].values[3] == 3.2 and "±" in t["dose"].notes[0]
    assert not t["lat"].used and "begin with a number" in t["lat"].alarms[0]


@pytest.mark.parametrize("code", ["-999", "-99", "9999"])
def test_a_code_for_a_gap_is_named(tmp_path, code):
    row = lambda i: f"p{i},{code if i % 4 == 1 else 20 + i % 7}"
    t = table_of(tmp_path, lines_of("id,x", row, 24))
    assert f"{code} stands in 6 cells, first in line 3" in t["x"].alarms[0]
    t = table_of(tmp_path, lines_of("id,x", lambda i: f"p{i},{i * 997 - 999}", 24))
    assert not t["x"].alarms  # one among others like it


def test_a_second_table_below_is_refused(tmp_path):
    body = lines_of("id,x", lambda i: f"p{i},{i % 5}") + ",\n"
    with pytest.raises(ValueError, match="second table seems to begin in line 15"):
        table_of(tmp_path, body + lines_of("key,y", lambda i: f"q{i},{i % 3}"))
    assert table_of(tmp_path, body + "late,\nlast,4\n").n == 14  # a gap in a row is none


def test_blanks_between_columns_and_decimal_commas(tmp_path):
    text = lines_of("name   size   mass", lambda i: f"obj{i}  {i},25   {i * 3 % 7},5")
    t = table_of(tmp_path, text)
    assert t["size"].values[2] == 2.25 and t["mass"].kind == "number" and t.ids[0] == "obj0"


def test_all_lines_of_a_footer_are_left_out(tmp_path):
    foot = "Average,2,1\nStd dev,3,5\nMax,4,4\n,,\n* estimated,,\n"
    t = table_of(tmp_path, lines_of("id,x,y", lambda i: f"p{i},{i % 5},{i % 3}") + foot)
    assert t.n == 12 and "4 lines below" in " ".join(t.notes)
    t = table_of(tmp_path, lines_of("id,x,y", lambda i: f"p{i},{i},{i % 3}") + "max,4,4\n")
    assert t.n == 13 and t.ids[-1] == "max"  # alone it may be a name


def test_text_that_excel_was_told_to_keep(tmp_path):
    t = table_of(tmp_path, lines_of("id,x", lambda i: f'"=""00{i:02}""",{i % 5}'))
    assert t.ids[:2] == ["0000", "0001"]


def test_new_rows_in_another_unit_are_named(tmp_path):
    "Percent for fractions, pounds for kilograms: a whole column that moved is no news."
    row = lambda i: f"p{i},{70 + i % 9}%,{50 + i % 7} kg,{'yes no'.split()[i % 2]}"
    t = table_of(tmp_path, lines_of("id,share,mass,smokes", row))
    new = dict(id=["a", "b"], share=["0.71", "0.75"], mass=["110 lbs", "120 lbs"])
    got = apply_recipe(t.recipe, new | dict(smokes=["yes", "perhaps"]))
    said = " ".join(got.alarms)
    assert "share: far from the old table" in said and "73" in said
    assert "mass: other units: lbs here, kg in the old table" in said
    assert "smokes: 1 cell" in said and "'perhaps'" in said
    same = dict(id=["a"], share=["71%"], mass=["52 kg"], smokes=["no"])
    assert not apply_recipe(t.recipe, same).alarms


def test_a_real_excel_file(tmp_path):
    "A cover sheet, a title in merged cells, dates, truth values, a formula below."
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.title = "Cover"
    book.active["A1"] = "Report"
    s = book.create_sheet("Data")
    s.append(["Patients", None, None, None])
    s.merge_cells("A1:D1")
    s.append([])
    s.append(["case", "size", "seen", "active"])
    for i in range(9):
        s.append(
            [i + 1, "n/a" if i == 5 else i / 3, dt.datetime(2024, 3, 1 + i), i % 2 == 0]
        )
    s.append(["Total", "=SUM(B4:B12)", None, None])
    book.save(tmp_path / "t.xlsx")
    t = read_table(tmp_path / "t.xlsx")
    assert [c.kind for c in t.columns] == ["id", "number", "date", "yes/no"] and t.n == 9
    assert "sheet 'Data' was read, not Cover" in t.notes[0]
    again = apply_recipe(json.loads(json.dumps(t.recipe)), tmp_path / "t.xlsx")
    np.testing.assert_allclose(again.X, t.X)


def test_a_real_parquet_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    columns = dict(
        key=[f"k{i}" for i in range(9)], price=[Decimal(f"{i}.25") for i in range(9)],
        day=[dt.date(2024, 3, 1 + i) for i in range(9)], on=[i % 2 == 0 for i in range(9)],
        kind=pa.array(list("abcabcabc")).dictionary_encode(),
    )  # fmt: skip
    __import__("pyarrow.parquet").parquet.write_table(
        pa.table(columns), tmp_path / "t.parquet"
    )
    t = read_table(tmp_path / "t.parquet")
    kinds = ["id", "number", "date", "yes/no", "category"]
    assert [c.kind for c in t.columns] == kinds and t["price"].values[3] == 3.25


def test_a_last_row_without_its_only_value_is_no_footnote(tmp_path):
    "With two columns a name and a gap are a row; with three they are a remark."
    two = lines_of("id,x", lambda i: f"p{i},{i * 1.5}") + "p99,\n"
    t = table_of(tmp_path, two)
    assert t.n == 13 and t.ids[-1] == "p99"
    three = lines_of("id,x,y", lambda i: f"p{i},{i * 1.5},{i % 3}") + "by hand,,\n"
    assert table_of(tmp_path, three).n == 12
