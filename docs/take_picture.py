"""Take the screenshot of the report for the README: python docs/take_picture.py (needs Chromium and Playwright)."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from luce.cli.demo import demo

PICTURE = Path(__file__).parent / "pictures" / "report.png"

SHORTER = "#results .pictures, #results h3, #results h3 ~ * { display: none }"
"""The screenshot shows only the top of the page: the table of results and the learning curves."""


def main() -> None:
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        demo(Path(folder))
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        size = {"width": 1000, "height": 1000}
        page = browser.new_page(viewport=size, device_scale_factor=1.5, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        page.add_style_tag(content=SHORTER)
        PICTURE.parent.mkdir(exist_ok=True)
        end = page.locator("#learning").bounding_box()
        page.screenshot(
            path=PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": 1000, "height": end["y"] + end["height"]}
        )
        browser.close()


if __name__ == "__main__":
    main()
