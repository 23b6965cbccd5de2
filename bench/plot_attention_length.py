#!/usr/bin/env python3
"""Draws what weft_bench_attention_length prints, as docs/linear-attention.svg:

build/release/bench/weft_bench_attention_length | bench/plot_attention_length.py > docs/linear-attention.svg

Four small charts, both axes logarithmic, readable on light and on dark ground. Python's own library is enough.
"""

import csv
import math
import sys

PANELS = (
    ("training_ms", "Training: time of a step, ms"),
    ("training_mib", "Training: memory of a step, MiB"),
    ("token_us", "Decoding: time of a token, µs"),
    ("cache_kib", "Decoding: memory kept, KiB"),
)
KINDS = ("softmax", "linear")
WIDTH, HEIGHT = 720, 520
PANEL_WIDTH, PANEL_HEIGHT = 280, 168
LEFT, TOP, STEP_X, STEP_Y = 60, 72, 350, 238

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333; }
  .title { font-weight: 600; }
  .grid { stroke: #8884; stroke-width: 1; }
  .softmax { stroke: #b4460f; fill: #b4460f; }
  .linear { stroke: #0b6bcb; fill: #0b6bcb; }
  polyline { fill: none !important; stroke-width: 2; }
  polyline.softmax { stroke-dasharray: 6 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .softmax { stroke: #ff9a5c; fill: #ff9a5c; }
    .linear { stroke: #6cb6ff; fill: #6cb6ff; }
  }
"""


def decades(low, high):
    """Powers of ten around the values, at least one decade."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return range(first, max(last, first + 1) + 1)


def label(power):
    return f"{10**power:,}" if power >= 0 else str(10.0**power)


def text(x, y, content, anchor="middle", kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{content}</text>'


def panel(rows, column, title, left, top):
    lengths = sorted({row["length"] for row in rows})
    values = [row[column] for row in rows]
    ticks = decades(min(values), max(values))

    def place(length, value):
        x = math.log2(length / lengths[0]) / math.log2(lengths[-1] / lengths[0])
        y = (math.log10(value) - ticks[0]) / (ticks[-1] - ticks[0])
        return left + x * PANEL_WIDTH, top + (1 - y) * PANEL_HEIGHT

    parts = [text(left, top - 12, title, "start", ' class="title"')]
    for power in ticks:
        y = place(lengths[0], 10.0**power)[1]
        parts.append(f'<path class="grid" d="M{left} {y:.1f}h{PANEL_WIDTH}"/>')
        parts.append(text(left - 6, y + 4, label(power), "end"))
    for length in lengths:
        parts.append(text(place(length, 10.0 ** ticks[0])[0], top + PANEL_HEIGHT + 18, f"{length:,}"))
    for kind in reversed(KINDS):  # where both are equal, the dashes of softmax show both
        points = [place(row["length"], row[column]) for row in rows if row["weights"] == kind]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="{kind}" points="{line}"/>')
        parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    return parts


def main():
    rows = []
    for row in csv.DictReader(sys.stdin, delimiter="\t"):
        rows.append({key: value if key == "weights" else float(value) for key, value in row.items()})
        rows[-1]["length"] = int(rows[-1]["length"])
    if {row["weights"] for row in rows} != set(KINDS):
        sys.exit("plot_attention_length: expected the lines of weft_bench_attention_length on standard input")
    parts = [text(LEFT, 26, "One attention layer by length of the sequence in tokens", "start", ' class="title"')]
    for i, kind in enumerate(KINDS):
        x = LEFT + 440 + 110 * i
        parts.append(f'<polyline class="{kind}" points="{x},22 {x + 28},22"/>')
        parts.append(f'<circle class="{kind}" cx="{x + 14}" cy="22" r="3"/>')
        parts.append(text(x + 34, 26, kind, "start"))
    for i, (column, title) in enumerate(PANELS):
        parts += panel(rows, column, title, LEFT + STEP_X * (i % 2), TOP + STEP_Y * (i // 2))
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
          'aria-label="Time and memory of softmax and linear attention by length">')
    print(f"<style>{STYLE}</style>")
    print("\n".join(parts))
    print("</svg>")


if __name__ == "__main__":
    main()
