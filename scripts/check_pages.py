#!/usr/bin/env python3
"""Opens the HTML pages that weft writes in a headless Chromium, uses them by mouse and keyboard in light and dark, and
checks what they show against the numbers they were made from.

  scripts/check_pages.py [--program build/release/weft] [--screenshots FOLDER]

Trains tiny models for it. Needs Chromium: scripts/install_deps.sh --ci installs it.
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
name = "{task}"
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
# What the model of a task is shown.
TEXTS = {
    "count": ["--text", "20 21 22 23 24 25"],
    "rank": ["--text", "5 30 9 1 70 2", "--target", "0 1 1 0 4"],
    "bert": ["--text", "20 21 [MASK] 23 24 25"],
}


def weft(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise CheckError(f"weft {' '.join(map(str, arguments))} failed: {result.stderr}")
    return result.stdout


def make_pages(program, folder):
    """Trains a tiny model of every architecture and writes its maps in both forms."""
    for task, text in TEXTS.items():
        (folder / f"{task}.toml").write_text(RECIPE.format(task=task), encoding="utf-8")
        weft(program, "train", folder / f"{task}.toml", "--out", folder / task, "--json")
        for form in ("json", "html"):
            weft(program, "attention", folder / task, *text, "--out", folder / f"{task}-maps.{form}")


def check_page(browser, page, check, name, screenshots):
    """Opens the page in light and in dark and uses it."""
    for scheme in ("light", "dark"):
        browser.open(page, scheme)
        check()
        complaints = browser.complaints()
        if complaints:
            raise CheckError(f"the page complains: {complaints}")
        if screenshots:
            browser.screenshot(screenshots / f"{name}-{scheme}.png")
    print(f"{name}: ok")


def check_all(browser, folder, screenshots):
    for task in TEXTS:
        maps = json.loads((folder / f"{task}-maps.json").read_text(encoding="utf-8"))
        metrics = [json.loads(line) for line in (folder / task / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        recipe = (folder / task / "recipe.toml").read_text(encoding="utf-8")
        check_page(browser, folder / f"{task}-maps.html", lambda: check_attention(browser, maps), f"{task}-maps",
                   screenshots)
        check_page(browser, folder / task / "report.html", lambda: check_report(browser, metrics, recipe),
                   f"{task}-report", screenshots)


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
