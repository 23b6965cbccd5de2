"""Line charts as one SVG, for the pictures of docs/: panels in two columns, readable on light and on dark ground."""

import math

WIDTH = 720
PANEL_WIDTH, PANEL_HEIGHT = 280, 168
LEFT, TOP, STEP_X, STEP_Y = 60, 72, 350, 238

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333; }
  .title { font-weight: 600; }
  .grid { stroke: #8884; stroke-width: 1; }
  .series0 { stroke: #b4460f; fill: #b4460f; }
  .series1 { stroke: #0b6bcb; fill: #0b6bcb; }
  .series2 { stroke: #2f7d32; fill: #2f7d32; }
  polyline { fill: none !important; stroke-width: 2; }
  polyline.series0 { stroke-dasharray: 6 3; }
  polyline.series2 { stroke-dasharray: 2 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .series0 { stroke: #ff9a5c; fill: #ff9a5c; }
    .series1 { stroke: #6cb6ff; fill: #6cb6ff; }
    .series2 { stroke: #7fd583; fill: #7fd583; }
  }
"""
SERIES = 3  # styles that STYLE has


def decades(values):
    """Powers of ten around the values, at least one decade."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return range(first, max(last, first + 1) + 1)


def label(power):
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"


def text(x, y, content, anchor="middle", kind=""):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{content}</text>'


def title(x, y, content):
    return text(x, y, content, "start", ' class="title"')


def panel(index, name, lines, x_ticks, along, dots=False):
    """The panel at place `index`: `lines` is a list of series, each a list of (x, y); y is drawn on a logarithmic axis.

    `along` places an x: 0 is the left edge, 1 the right one. `x_ticks` are written under the axis.
    """
    left, top = LEFT + STEP_X * (index % 2), TOP + STEP_Y * (index // 2)
    ticks = decades([y for line in lines for _, y in line])

    def place(x, y):
        height = (math.log10(y) - ticks[0]) / (ticks[-1] - ticks[0])
        return left + along(x) * PANEL_WIDTH, top + (1 - height) * PANEL_HEIGHT

    parts = [title(left, top - 12, name)]
    for power in ticks:
        y = place(x_ticks[0], 10.0**power)[1]
        parts.append(f'<path class="grid" d="M{left} {y:.1f}h{PANEL_WIDTH}"/>')
        parts.append(text(left - 6, y + 4, label(power), "end"))
    for x in x_ticks:
        parts.append(text(left + along(x) * PANEL_WIDTH, top + PANEL_HEIGHT + 18, f"{x:,}"))
    for series in reversed(range(len(lines))):  # where two are equal, the dashes of the first show both
        points = [place(x, y) for x, y in lines[series]]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="series{series}" points="{line}"/>')
        if dots:
            parts += [f'<circle class="series{series}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    return parts


def legend(x, y, series, name, dots=False):
    parts = [f'<polyline class="series{series}" points="{x},{y - 4} {x + 28},{y - 4}"/>']
    if dots:
        parts.append(f'<circle class="series{series}" cx="{x + 14}" cy="{y - 4}" r="3"/>')
    return [*parts, text(x + 34, y, name, "start")]


def write(parts, panels, description):
    """Prints the picture of so many panels."""
    height = TOP + STEP_Y * ((panels + 1) // 2) - 28
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{description}">')
    print(f"<style>{STYLE}</style>")
    print("\n".join(parts))
    print("</svg>")
