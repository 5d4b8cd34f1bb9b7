"""Markers, data, and one Chromium for the browser tests."""
import os, shutil
import pytest

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync"]


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than half a minute; run by `make test-all`")
    config.addinivalue_line("markers", "browser: needs Chromium; obligatory where CSC_NB_BROWSER=1")


def pytest_collection_modifyitems(config, items):
    if os.path.exists(CHROMIUM) or os.environ.get("CSC_NB_BROWSER") == "1": return
    for item in items:
        if "browser" in item.keywords: item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@pytest.fixture
def page():
    "A fresh Chromium page that records every request it makes (`page.asked`)."
    from playwright.sync_api import sync_playwright
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        page = browser.new_context(viewport=dict(width=1000, height=900)).new_page()
        page.asked = []
        page.on("request", lambda r: page.asked.append(r.url))
        yield page
        browser.close()
