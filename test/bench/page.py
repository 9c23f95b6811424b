# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SVG line charts in one self-contained HTML page. Standard library only."""
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520, 280, 62, 40, 34, 36
COLORS = ["#1f6feb", "#d1660a", "#2da44e", "#8250df"]
STYLE = """body { font: 15px system-ui, sans-serif; margin: 2em auto; max-width: 1120px; color: #222 }
svg { margin: 6px; background: #fafafa; border: 1px solid #ddd } text { font-size: 11px; fill: #444 }
.title { font-size: 13px; font-weight: 600; fill: #222 } .grid { stroke: #ddd } .line { fill: none; stroke-width: 2 }"""


def round_step(most):
    """Returns a step of 1, 2 or 5 times a power of ten with about five steps up to `most`."""
    power = 10 ** math.floor(math.log10(most / 5))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= most / 5)


def positions_of(names):
    """Returns each x position, from 0 to 1: logarithmic if all names are numbers, else evenly spaced."""
    if all(isinstance(name, (int, float)) for name in names) and min(names) < max(names):
        low, high = math.log(min(names)), math.log(max(names))
        return {name: (math.log(name) - low) / (high - low) for name in names}
    return {name: i / max(1, len(names) - 1) for i, name in enumerate(names)}


def chart(title, unit, series, top=None):
    """Draws a chart of {name: [(x, y), ...]}; the y axis starts at 0 and reaches at least `top`."""
    names = list(dict.fromkeys(x for points in series.values() for x, _ in points))
    most = max([y for points in series.values() for _, y in points] + [top or 0]) or 1
    places = positions_of(names) if names else {}

    def across(x):
        return LEFT + places[x] * (WIDTH - LEFT - RIGHT)

    def up(y):
        return HEIGHT - BOTTOM - y / most * (HEIGHT - BOTTOM - TOP)

    parts = [f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{html.escape(title)}: {unit}">',
             f'<text class="title" x="{LEFT}" y="18">{html.escape(unit)}, by {html.escape(title)}</text>']
    step = round_step(most)
    for i in range(int(most / step + 1e-9) + 1):
        y = up(i * step)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{i * step:g}</text>')
    for name in names:
        parts.append(f'<text x="{across(name):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{html.escape(str(name))}</text>')
    for number, (name, points) in enumerate(series.items()):
        color = COLORS[number % len(COLORS)]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        parts.append(f'<polyline class="line" stroke="{color}" points="{path}"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{color}"><title>{html.escape(f"{name} {x}: {y:g}")}</title></circle>'
                  for x, y in points]
        parts.append(f'<text x="{LEFT + 110 * number}" y="{HEIGHT - 6}" style="fill:{color}">{html.escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def page(title, charts):
    return "\n".join(["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{html.escape(title)}</title>",
                      f"<style>{STYLE}</style></head>", f"<body><h1>{html.escape(title)}</h1>", *charts, "</body></html>", ""])
