#!/usr/bin/env python3
"""Opens the HTML pages that weft writes in a headless Chromium, uses them by mouse and keyboard in light and dark, and
checks what they show against the numbers they were made from.

  scripts/check_pages.py [--program build/release/weft] [--screenshots FOLDER]

Trains a tiny model for it. Needs Chromium: scripts/install_deps.sh --ci installs it. Takes about 15 seconds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pages.attention_page import check_attention  # noqa: E402
from pages.browser import Browser, BrowserError, find_browser  # noqa: E402
from pages.checks import CheckError  # noqa: E402
from pages.report_page import check_report  # noqa: E402

RECIPE = """[task]
name = "count"
[data]
samples = 400
validation_samples = 40
[model]
max_length = 12
d_model = 32
heads = 4
layers = 2
[train]
steps = 40
batch_size = 8
log_every = 1
eval_every = 10
"""


def weft(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise CheckError(f"weft {' '.join(map(str, arguments))} failed: {result.stderr}")
    return result.stdout


def make_pages(program, folder):
    """Trains the tiny model and writes its maps in both forms."""
    (folder / "tiny.toml").write_text(RECIPE, encoding="utf-8")
    weft(program, "train", folder / "tiny.toml", "--out", folder / "run", "--json")
    for form in ("json", "html"):
        weft(program, "attention", folder / "run", "--text", "20 21 22 23 24 25", "--out", folder / f"maps.{form}")


def check_all(browser, folder, screenshots):
    maps = json.loads((folder / "maps.json").read_text(encoding="utf-8"))
    metrics = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    recipe = (folder / "run/recipe.toml").read_text(encoding="utf-8")
    pages = {
        folder / "maps.html": lambda: check_attention(browser, maps),
        folder / "run/report.html": lambda: check_report(browser, metrics, recipe),
    }
    for page, check in pages.items():
        for scheme in ("light", "dark"):
            browser.open(page, scheme)
            check()
            complaints = browser.complaints()
            if complaints:
                raise CheckError(f"the page complains: {complaints}")
            if screenshots:
                browser.screenshot(screenshots / f"{page.stem}-{scheme}.png")
            print(f"{page.name}, {scheme}: ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/weft", help="the program to check")
    parser.add_argument("--screenshots", type=Path, help="folder to put pictures of the pages into")
    options = parser.parse_args()
    program = find_browser()
    if program is None:
        sys.exit("error: check_pages: expected Chromium, found none; scripts/install_deps.sh --ci installs it")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
            make_pages(options.program, Path(folder))
            check_all(browser, Path(folder), options.screenshots)
    except (BrowserError, CheckError) as error:
        sys.exit(f"error: check_pages: {error}")


if __name__ == "__main__":
    main()
