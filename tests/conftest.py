"""A browser for the tests of pages."""

import os
import shutil
from pathlib import Path

import pytest

NAMES = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium, or the one that Playwright installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not here: pip install playwright")
    with playwright.sync_playwright() as driver:
        own = driver.chromium.executable_path
        found = next(filter(None, map(shutil.which, NAMES)), own if Path(own).exists() else None)
        if found is None:
            pytest.skip("There is no Chromium: `make browser` gets one.")
        # A browser run by root, as in containers, does not start with its sandbox.
        flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        running = driver.chromium.launch(executable_path=found, args=flags)
        yield running
        running.close()
