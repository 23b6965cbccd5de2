#!/usr/bin/env python3
"""Draws the training losses of runs, as docs/wirings.svg: one panel for each `--panel`, one line for each of its runs.

bench/plot_runs.py --names block_input,post_norm,pre_norm \\
    --panel rank runs/rank runs/rank-post-norm runs/rank-pre-norm --panel bert runs/bert … > docs/wirings.svg

Reads metrics.jsonl of the run folders, which holds the loss of one batch in train.log_every; a point is the mean of what
was logged within 50 steps. Python's own library is enough.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import charts

WINDOW_STEPS = 50


def curve(run):
    """(last step, mean loss) of a run for every WINDOW_STEPS."""
    path = Path(run) / "metrics.jsonl"
    if not path.is_file():
        sys.exit(f"plot_runs: expected a run folder with metrics.jsonl, there is no {path}")
    windows = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "loss" in row:
            windows.setdefault(math.ceil(row["step"] / WINDOW_STEPS) * WINDOW_STEPS, []).append(row["loss"])
    if not windows:
        sys.exit(f"plot_runs: {path} has no loss")
    return [(step, sum(losses) / len(losses)) for step, losses in sorted(windows.items())]


def round_steps(last):
    """Steps to write under the axis: about four, round numbers."""
    step = 10 ** math.floor(math.log10(last))
    step = next(size for size in (step / 4, step / 2, step, 2 * step) if last / size <= 5)
    return [round(i * step) for i in range(int(last / step) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panel", nargs="+", action="append", required=True, metavar=("TITLE", "RUN"))
    parser.add_argument("--names", required=True, help="names of the lines, the same in every panel, with commas between")
    arguments = parser.parse_args()
    names = arguments.names.split(",")
    if len(names) > charts.SERIES:
        sys.exit(f"plot_runs: at most {charts.SERIES} lines a panel, not {len(names)}")
    parts = [charts.title(charts.LEFT, 26, f"Training loss, {WINDOW_STEPS} steps a point")]
    for series, name in enumerate(names):
        parts += charts.legend(charts.LEFT + 300 + 120 * series, 26, series, name)
    for index, (name, *runs) in enumerate(arguments.panel):
        if len(runs) != len(names):
            sys.exit(f"plot_runs: panel {name} has {len(runs)} runs for {len(names)} names")
        lines = [curve(run) for run in runs]
        last = max(line[-1][0] for line in lines)
        parts += charts.panel(index, name, lines, round_steps(last), lambda step, last=last: step / last)
    charts.write(parts, len(arguments.panel), "Training loss by step")


if __name__ == "__main__":
    main()
