# SPDX-License-Identifier: Apache-2.0
"""Drawing: a chart of curves as SVG. The y axis is logarithmic. Nothing but Python is needed."""
import dataclasses
import math

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 90, 130, 44, 58
LIBRARY = "#c2185b"
BEST = ", best"  # a library at its best settings has the color of the library as shipped, which is dashed then
COLORS = {"libmdist": LIBRARY, "MPICH": "#1565c0", "Open MPI": "#2e7d32", "Gloo": "#6d6d6d", "MPICH 5": "#00838f",
          "Open MPI 5": "#9e9d24", "Intel MPI": "#ef6c00"}
OTHER_COLORS = ("#c2185b", "#1565c0", "#2e7d32", "#6d6d6d", "#ef6c00", "#6a1b9a", "#00838f", "#4e342e", "#9e9d24")


@dataclasses.dataclass
class Chart:
    title: str
    below: str  # a line under the title: the machine
    x_title: str
    xs: list  # of (value, text), in order
    ticks: list  # of (value, text), in order; the first and the last are the ends of the y axis
    curves: dict  # {name: [(x, y)]}
    x_is_logarithmic: bool = True  # otherwise the values of `xs` are equally far apart
    level: float = None  # a y with a heavy line
    colors: dict = dataclasses.field(default_factory=lambda: COLORS)

    def x(self, value):
        values = [x for x, _ in self.xs]
        if self.x_is_logarithmic:
            low, high = math.log(values[0]), math.log(values[-1])
            share = (math.log(value) - low) / (high - low) if high > low else 0.5
        else:
            share = values.index(value) / (len(values) - 1) if len(values) > 1 else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        low, high = math.log10(self.ticks[0][0]), math.log10(self.ticks[-1][0])
        return HEIGHT - BOTTOM - (math.log10(value) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def color(self, name):
        return self.colors.get(name) or self.colors.get(name.removesuffix(BEST), "#000000")


def colors_of(names):
    if all(name.removesuffix(BEST) in COLORS for name in names):
        return COLORS
    return {name: OTHER_COLORS[i % len(OTHER_COLORS)] for i, name in enumerate(names)}


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{words}</text>'


def grid(chart):
    for value, words in chart.ticks:
        y = chart.y(value)
        color = "#777777" if value == chart.level else "#dddddd"
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{color}"/>'
        yield text(LEFT - 8, y + 4, words, "end")
    for value, words in chart.xs:
        yield text(chart.x(value), HEIGHT - BOTTOM + 20, words, extra=' font-size="11"')


def curve(chart, name):
    color, width = chart.color(name), 3 if name == "libmdist" else 1.8
    places = [(chart.x(x), chart.y(y)) for x, y in chart.curves[name]]
    dashes = ' stroke-dasharray="6 4"' if name + BEST in chart.curves else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"{dashes}/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width}" fill="{color}"/>'


def labels(chart):
    """Names at the ends of the curves, moved apart where they would meet."""
    below = -math.inf
    ends = [(name, points[-1][1]) for name, points in chart.curves.items()]
    for name, value in sorted(ends, key=lambda end: -end[1]):
        below = max(chart.y(value) + 4, below + 15)
        yield text(WIDTH - RIGHT + 8, below, name, "start", f' fill="{chart.color(name)}" font-weight="bold"')


def lines(chart):
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12" fill="#333333">')
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield text(LEFT, 20, chart.title, "start", ' font-size="14" font-weight="bold"')
    yield text(LEFT, 36, chart.below, "start", ' font-size="11"')
    yield from grid(chart)
    for name in reversed(chart.curves):
        yield from curve(chart, name)
    yield from labels(chart)
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, chart.x_title)
    yield "</svg>"


def drawn(chart):
    return "\n".join(lines(chart)) + "\n"
