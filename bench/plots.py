"""Draw figures as SVG: bars with their spread, and lines over a growing number; no fonts from outside."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 760, 210, 90, 18, 8, 34
# Colours that are told apart in light and dark pages, and by people who see fewer of them.
COLOURS = {"io": "#8a8f98", "hand": "#3b7dd8", "lakelogic": "#d9822b"}
OTHER = "#6a51a3"
STYLE = "font-family: ui-sans-serif, system-ui, sans-serif; font-size: 12px; fill: currentColor"


def _text(x: float, y: float, words: str, anchor: str = "start", *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{weight} style="{STYLE}">{escape(words)}</text>'


def _frame(title: str, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title, quote=True)}" color="#57606a">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", _text(0, 16, title, bold=True), *parts, "</svg>", ""])


def bars(title: str, rows: Sequence[tuple[str, str, dict[str, float]]], unit: str = "") -> str:
    """A bar for each row (label, kind, spread), from nothing to the median, with a line from least to most."""
    most = max((spread["most"] for _, _, spread in rows), default=1.0) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / most
    parts, y = [], float(TOP)
    for label, kind, spread in rows:
        colour = COLOURS.get(kind, OTHER)
        middle, end = y + BAR / 2, LEFT + spread["median"] * scale
        parts += [
            _text(LEFT - 8, y + 13, label, "end"),
            f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
            f'<line x1="{LEFT + spread["least"] * scale:.1f}" x2="{LEFT + spread["most"] * scale:.1f}" '
            f'y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="1.5"/>',
            _text(LEFT + spread["most"] * scale + 8, y + 13, f"{spread['median']:.2f}{unit}"),
        ]
        y += BAR + GAP
    return _frame(title, y + 4, parts)


def lines(title: str, series: dict[str, Sequence[tuple[float, float]]], across: str) -> str:
    """A line for each name over a growing number; both axes are straight and begin at nothing."""
    height, bottom = 260, 214
    points = [point for line in series.values() for point in line]
    far, high = max(x for x, _ in points), max(y for _, y in points) or 1.0
    parts = [
        f'<line x1="60" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}" stroke="currentColor"/>',
        f'<line x1="60" x2="60" y1="{TOP}" y2="{bottom}" stroke="currentColor"/>',
        _text(54, TOP + 6, f"{high:.1f}", "end"),
        _text(54, bottom, "0", "end"),
        _text((60 + WIDTH - RIGHT) / 2, height - 8, across, "middle"),
    ]
    shades = ("#3b7dd8", "#d9822b", "#2b8a6b", "#6a51a3")
    for x in sorted({x for x, _ in points}):
        parts.append(_text(60 + x / far * (WIDTH - RIGHT - 60), bottom + 16, f"{x:g}", "middle"))
    for shade, (name, line) in zip(shades, series.items(), strict=False):
        spots = [(60 + x / far * (WIDTH - RIGHT - 60), bottom - y / high * (bottom - TOP)) for x, y in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{shade}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{shade}"/>' for x, y in spots]
        parts.append(_text(spots[-1][0] + 8, spots[-1][1] + 4, name))
    return _frame(title, height, parts)
