#!/usr/bin/env python3
"""Draws what weft_bench_attention_length prints, as docs/linear-attention.svg:

build/release/bench/weft_bench_attention_length | bench/plot_attention_length.py > docs/linear-attention.svg

Four small charts, both axes logarithmic. Python's own library is enough.
"""

import csv
import math
import sys

import charts

PANELS = (
    ("training_ms", "Training: time of a step, ms"),
    ("training_mib", "Training: memory of a step, MiB"),
    ("token_us", "Decoding: time of a token, µs"),
    ("cache_kib", "Decoding: memory kept, KiB"),
)
KINDS = ("softmax", "linear")


def main():
    rows = []
    for row in csv.DictReader(sys.stdin, delimiter="\t"):
        rows.append({key: value if key == "weights" else float(value) for key, value in row.items()})
        rows[-1]["length"] = int(rows[-1]["length"])
    if {row["weights"] for row in rows} != set(KINDS):
        sys.exit("plot_attention_length: expected the lines of weft_bench_attention_length on standard input")
    lengths = sorted({row["length"] for row in rows})

    def along(length):
        return math.log2(length / lengths[0]) / math.log2(lengths[-1] / lengths[0])

    parts = [charts.title(charts.LEFT, 26, "One attention layer by length of the sequence in tokens")]
    for series, kind in enumerate(KINDS):
        parts += charts.legend(charts.LEFT + 440 + 110 * series, 26, series, kind, dots=True)
    for index, (column, name) in enumerate(PANELS):
        lines = [[(row["length"], row[column]) for row in rows if row["weights"] == kind] for kind in KINDS]
        parts += charts.panel(index, name, lines, lengths, along, dots=True)
    charts.write(parts, len(PANELS), "Time and memory of softmax and linear attention by length")


if __name__ == "__main__":
    main()
