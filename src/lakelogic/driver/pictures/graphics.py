"""The graph for other eyes: Mermaid, DOT, SVG, a page of HTML, and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from lakelogic.driver.graph import Graph
from lakelogic.driver.pictures.layout import layer_name, layout
from lakelogic.driver.registry import Member
from lakelogic.errors import Diagnostic

# Fill and edge of a dataset's box, by layer.
_COLOURS = {
    "reference": ("#e8eef7", "#4a6fa5"),
    "bronze": ("#f6e7d8", "#9c6b30"),
    "silver": ("#ececef", "#6f7480"),
    "gold": ("#fbf1cf", "#a88413"),
    None: ("#ffffff", "#888888"),
}
_HIGH, _ROW, _GAP, _LETTER, _EDGE, _TOP = 30, 48, 90, 7.4, 20, 46


def as_data(graph: Graph) -> dict[str, Any]:
    """Datasets in the order of a pass, and edges with how each is known."""
    return {
        "datasets": [
            {
                "dataset": member.dataset, "entity": member.entity, "layer": member.layer, "domain": member.domain,
                "system": member.system, "owner": member.owner, "enabled": member.enabled, "file": member.file,
                "upstreams": list(graph.upstreams(member.dataset)),
            }
            for member in graph.order()
        ],
        "edges": [
            {
                "upstream": edge.upstream, "downstream": edge.downstream, "kinds": list(edge.kinds),
                "file": edge.where.file, "line": edge.where.line,
            }
            for edge in graph.edges
        ],
        "unknown": [{"downstream": edge.downstream, "upstream": edge.upstream} for edge in graph.unknown],
    }  # fmt: skip


def as_mermaid(graph: Graph) -> str:
    """A flowchart that Markdown renderers draw."""
    number = {dataset: f"n{index}" for index, dataset in enumerate(graph.members)}
    lines = ["flowchart LR"]
    for rank, group in _by_layer(graph):
        lines.append(f'  subgraph layer{rank}["{layer_name(rank)}"]')
        lines += [f'    {number[member.dataset]}["{_quoted(member.dataset)}"]' for member in group]
        lines.append("  end")
    lines += [f"  {number[edge.upstream]} --> {number[edge.downstream]}" for edge in graph.edges]
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace("]", "&#93;")


def as_dot(graph: Graph) -> str:
    """A graph for Graphviz."""
    lines = ["digraph estate {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fontname="sans-serif"];']
    for rank, group in _by_layer(graph):
        lines += [f"  subgraph cluster_{rank} {{", f"    label={_dot(layer_name(rank))};"]
        for member in group:
            fill, edge = _COLOURS.get(member.layer, _COLOURS[None])
            lines.append(f'    {_dot(member.dataset)} [fillcolor="{fill}", color="{edge}"];')
        lines.append("  }")
    lines += [f"  {_dot(edge.upstream)} -> {_dot(edge.downstream)};" for edge in graph.edges]
    return "\n".join([*lines, "}"])


def _dot(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _by_layer(graph: Graph) -> list[tuple[int, list[Member]]]:
    members = sorted(graph.order(), key=lambda member: member.rank)
    return [(rank, list(group)) for rank, group in groupby(members, key=lambda member: member.rank)]


def as_svg(graph: Graph) -> str:
    """A drawing that needs nothing else: boxes by layer, curves from what is needed to what needs it."""
    placed = layout(graph)
    widths = [
        max((len(d) for d, column in placed.column.items() if column == number), default=4) * _LETTER + 22
        for number in range(len(placed.layers))
    ]
    lefts, at = [], float(_EDGE)
    for width in widths:
        lefts.append(at)
        at += width + _GAP
    wide, high = at - _GAP + _EDGE, _TOP + max(placed.rows, 1) * _ROW + _EDGE

    def box(dataset: str) -> tuple[float, float, float]:
        column = placed.column[dataset]
        return lefts[column], _TOP + placed.row[dataset] * _ROW, widths[column]

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" '
        f'height="{high:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" role="img" '
        'aria-label="Datasets and what they are made of">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#5b6270"/></marker></defs>',
    ]
    for number, layer in enumerate(placed.layers):
        if number == 0 or placed.layers[number - 1] != layer:
            parts.append(f'<text x="{lefts[number]:.0f}" y="26" font-weight="bold" fill="#5b6270">{layer}</text>')
    for edge in graph.edges:
        left, top, width = box(edge.upstream)
        to_left, to_top, _ = box(edge.downstream)
        x, y, x2, y2 = left + width, top + _HIGH / 2, to_left, to_top + _HIGH / 2
        bend = max(abs(x2 - x) / 2, 30)
        parts.append(
            f'<path d="M{x:.1f} {y:.1f} C{x + bend:.1f} {y:.1f} {x2 - bend:.1f} {y2:.1f} {x2 - 2:.1f} {y2:.1f}" '
            f'fill="none" stroke="#5b6270" stroke-width="1.3" marker-end="url(#tip)">'
            f"<title>{escape(edge.downstream)} needs {escape(edge.upstream)} ({', '.join(edge.kinds)})</title></path>"
        )
    for dataset, member in graph.members.items():
        left, top, width = box(dataset)
        fill, line = _COLOURS.get(member.layer, _COLOURS[None])
        dashed = "" if member.enabled else ' stroke-dasharray="4 3"'
        title = f"{member.file}\nowner: {member.owner or 'nobody'}"
        parts.append(
            f'<g><title>{escape(title)}</title><rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_HIGH}" '
            f'rx="5" fill="{fill}" stroke="{line}"{dashed}/><text x="{left + 11:.1f}" y="{top + 19:.1f}" '
            f'fill="#22252b">{escape(dataset)}</text></g>'
        )
    return "\n".join([*parts, "</svg>"])


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #22252b; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { text-align: left; padding: .25rem .9rem .25rem 0; }
th { border-bottom: 1px solid #c9ccd3; font-weight: 600; } code { font: 13px ui-monospace, monospace; }
.picture { overflow-x: auto; } .error { color: #a3151b; } .warning { color: #8a6100; }
@media (prefers-color-scheme: dark) { body { background: #17191d; color: #e6e7ea; } .picture { background: #fff; } }
"""


def as_html(graph: Graph, problems: Sequence[Diagnostic] = (), title: str = "Estate") -> str:
    """One page: the drawing, every dataset with its owner, and what is wrong. It loads nothing from elsewhere."""
    rows = [
        f"<tr><td><code>{escape(m.dataset)}</code></td><td>{escape(m.layer or '')}</td>"
        f"<td>{escape(m.domain or '')}</td><td>{escape(m.system or '')}</td>"
        f"<td>{escape(m.owner or '')}</td><td><code>{escape(m.file)}</code></td></tr>"
        for m in graph.order()
    ]
    problem_items = [
        f'<li class="{p.severity}"><code>{escape(str(p.where))}</code><br>{p.code} {escape(p.message)}'
        f"{' ' + escape(p.hint) if p.hint else ''}</li>"
        for p in problems
    ]
    wrong = f"<h2>What is wrong</h2><ul>{''.join(problem_items)}</ul>" if problem_items else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f'<div class="picture">{as_svg(graph)}</div>{wrong}<h2>Datasets</h2><table><thead><tr><th>dataset</th>'
        "<th>layer</th><th>domain</th><th>system</th><th>owner</th><th>contract</th></tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table></body></html>\n"
    )
