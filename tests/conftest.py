"""Markers, CPU of each test, and one Chromium for the browser tests.

`pytest --cpu 30` prints the 30 tests and files that cost most processor time, which says
the same on a busy machine; a file's fixtures count with the first test that needs them.
"""

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

os.environ.setdefault("CSC_NB_QUIET", "1")  # no line about compiling in a test's output

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow: takes more than half a minute; run by `make test-all`"
    )
    config.addinivalue_line(
        "markers", "browser: needs Chromium; obligatory where CSC_NB_BROWSER=1"
    )
    config.addinivalue_line(
        "markers", "quick: named in quick.txt; run by `make test-quick`"
    )


def pytest_addoption(parser):
    say = "print the N tests and files that cost most processor seconds"
    parser.addoption("--cpu", type=int, default=0, metavar="N", help=say)


def cpu_seconds():
    "Of this process and of those it has waited for (a browser that lives on is left out)."
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.cpu_before = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("cpu", cpu_seconds() - item.cpu_before))
    return report


def pytest_terminal_summary(terminalreporter, config):
    most = config.getoption("cpu")
    if not most:
        return
    tests, files = Counter(), Counter()
    for report in terminalreporter.getreports(""):
        for name, seconds in getattr(report, "user_properties", ()):
            if name == "cpu" and report.when == "teardown":
                tests[report.nodeid] += seconds
                files[report.nodeid.split("::")[0]] += seconds
    for what, found in (("files", files), ("tests", tests)):
        terminalreporter.section(f"CPU seconds, {what}: {sum(found.values()):.0f} in all")
        for name, seconds in found.most_common(most):
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")


def quick_tests():
    "Module → the tests of `make test-quick` that show what it does."
    lines = Path(__file__).with_name("quick.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and line[0] != "#"]
    return {module: tests for module, *tests in rows}


def long_files_first(items):
    """Files of browser tests first, then those with many tests.

    `make test` gives whole files to its workers: a long one that begins last keeps the
    others waiting, and a browser leaves the processor free most of the time.
    """
    file = lambda item: item.path.name
    browser = {file(i) for i in items if i.get_closest_marker("browser")}
    count = Counter(map(file, items))
    items.sort(key=lambda i: (file(i) not in browser, -count[file(i)], file(i)))


def pytest_collection_modifyitems(config, items):
    long_files_first(items)
    named = {test for tests in quick_tests().values() for test in tests}
    for item in items:
        test = (
            f"{item.path.name}::{item.originalname}"
            if hasattr(item, "originalname")
            else ""
        )
        if {item.path.name, test} & named:
            item.add_marker("quick")
    if os.path.exists(CHROMIUM) or os.environ.get("CSC_NB_BROWSER") == "1":
        return
    for item in items:
        if "browser" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@pytest.fixture(scope="module")
def chromium():
    "One Chromium for a whole file: its start costs a second, a fresh context nothing."
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    "A fresh context and page that records every request it makes (`page.asked`)."
    context = chromium.new_context(viewport=dict(width=1000, height=900))
    page = context.new_page()
    page.asked = []
    page.on("request", lambda r: page.asked.append(r.url))
    yield page
    context.close()


@contextlib.contextmanager
def serve_voila(notebook, seconds=120):
    "Voilà on a free loopback port, showing one notebook; gives its address."
    pytest.importorskip("voila")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = tempfile.TemporaryFile("w+")
    args = [
        sys.executable,
        "-m",
        "voila",
        notebook.name,
        "--no-browser",
        "--Voila.ip=127.0.0.1",
        f"--port={port}",
    ]
    proc = subprocess.Popen(
        args,
        cwd=notebook.parent,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"},
    )
    try:
        deadline = time.time() + seconds
        while True:
            if proc.poll() is not None or time.time() > deadline:
                log.seek(0)
                pytest.fail(log.read()[-2000:])
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/voila/static/", timeout=1)
            except urllib.error.HTTPError:
                break  # it answers
            except OSError:
                time.sleep(0.5)
            else:
                break
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.killpg(proc.pid, signal.SIGTERM)
        try:
            proc.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)
            proc.wait()
        log.close()
