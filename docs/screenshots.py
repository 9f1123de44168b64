"""Take the screenshots for the documentation: python docs/screenshots.py

Pages are generated from bundled or simulated data and opened in Chromium.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from playwright.sync_api import sync_playwright

import noneg
from noneg.demo import handwritten_loops
from noneg.report import About, comparison_to_html, to_html
from noneg.simulation import LogisticGaussian

PICTURES = Path(__file__).parent / "pictures"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]


def demo() -> str:
    data = handwritten_loops()
    found = noneg.evaluate(data.scores, recalibrate=True)
    truth = noneg.evaluate(data.truth, edges=found.edges)
    title = "Does the digit have a loop? Naive Bayes on handwritten digits"
    return to_html(found, About(title=title, command="noneg demo"), truth=truth)


def simulated() -> str:
    scores = LogisticGaussian.less_calibrated(0.12).draw(1000, 20_000, setting="two-sample", seed=1)
    title = "Can the scores in scores.parquet be trusted?"
    return to_html(noneg.evaluate(scores, recalibrate=True), About(title=title))


def compared() -> str:
    score, label = LogisticGaussian.calibrated().draw_rows(8000, seed=0)
    rng = np.random.default_rng(0)
    labeled = label & (rng.random(label.size) < 0.4)
    noise = rng.normal(scale=0.8, size=score.size)
    blurred = 1.0 / (1.0 + (1.0 / score - 1.0) * np.exp(noise))
    models = {"plain": score, "squared": score**2, "blurred": blurred}
    found = noneg.compare(models, labeled, setting="one-sample", prior=float(label.mean()))
    return comparison_to_html(found)


def move_prior(page) -> None:
    page.fill("#prior-number", "0.2")
    page.keyboard.press("Tab")


# Screenshot: page, width, height, colors, what to show at the top, what to do first.
SHOTS = {
    "report.png": (simulated, 1280, 1180, "light", None, None),
    "report-dark.png": (simulated, 1280, 1180, "dark", None, None),
    "report-phone.png": (simulated, 390, 1100, "light", None, None),
    "report-threshold.png": (simulated, 1280, 900, "light", "#threshold", None),
    "report-moved.png": (simulated, 1280, 1180, "light", None, move_prior),
    "report-recalibration.png": (simulated, 1280, 900, "light", "#recalibration", None),
    "report-print.png": (simulated, 794, 1123, "print", None, None),
    "demo.png": (demo, 1280, 1180, "light", None, None),
    "demo-truth.png": (demo, 1280, 1000, "light", "#truth", None),
    "compare.png": (compared, 1280, 1180, "light", None, None),
}


def main() -> None:
    wanted = sys.argv[1:] or list(SHOTS)
    pages: dict[object, Path] = {}
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in wanted:
            make, width, height, scheme, anchor, action = SHOTS[name]
            if make not in pages:
                pages[make] = Path(folder) / f"{make.__name__}.html"
                pages[make].write_text(make(), encoding="utf-8")
            page = browser.new_page(viewport={"width": width, "height": height})
            if scheme == "print":
                page.emulate_media(media="print")
            else:
                page.emulate_media(color_scheme=scheme)
            page.goto(pages[make].as_uri())
            page.wait_for_selector("body[data-ready]")
            if action:
                action(page)
            if anchor:
                page.evaluate("(id) => document.querySelector(id).scrollIntoView()", anchor)
            page.wait_for_timeout(400)
            page.screenshot(path=PICTURES / name)
            page.close()
            print(PICTURES / name)
        browser.close()


if __name__ == "__main__":
    main()
