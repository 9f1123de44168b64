"""A real browser, one per session; tests are skipped with a message if there is none."""

import os
import shutil
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("NONEG_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("Chromium is not installed: the page is not tried in a browser")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


class Watched:
    """A page, and the errors that occurred on it."""

    def __init__(self, page):
        self.page = page
        self.complaints = []
        self.requests = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def __getattr__(self, name):
        return getattr(self.page, name)

    @property
    def outside(self):
        """Requests other than for the file itself."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]

    def overflow(self):
        """Return the number of pixels by which the page is wider than the window."""
        return self.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens HTML text as a file in a new window."""
    contexts = []

    def opened(html, *, width=1280, height=900, scheme="light", name="report.html", fragment=""):
        path = Path(tmp_path) / name
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        watched = Watched(context.new_page())
        watched.goto(path.as_uri() + (fragment and f"#{fragment}"))
        watched.wait_for_selector("body[data-ready]", timeout=30_000)
        return watched

    yield opened
    for context in contexts:
        context.close()
