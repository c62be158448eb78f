"""Plain HTML for the static site: every value is escaped, nothing needs a script, links work from disk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from lakelogic.version import VERSION

_MARKS = {
    "succeeded": "good", "no_new_data": "none", "partial": "late", "gated": "held", "held_back": "held",
    "failed": "bad", "skipped": "none",
}  # fmt: skip


_SLOTS = 30


class Html(str):
    """Text that is markup already; everything else is escaped."""

    __slots__ = ()


def safe(value: Any) -> str:
    """A value as markup."""
    if isinstance(value, Html):
        return value
    return escape(shown(value))


def shown(value: Any) -> str:
    """A value for people: times in UTC, nothing as a dash."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u2009")
    return str(value)


def many(count: int, noun: str) -> str:
    """So many of something."""
    return f"{shown(count)} {noun}{'' if count == 1 else 's'}"


def share(value: float | None) -> str:
    """A share that is never rounded into a lie: 100 % is all of it."""
    if value is None:
        return "–"
    if value in (0, 1):
        return f"{value:.0%}".replace("%", "\u2009%")
    text = f"{value * 100:.1f}"
    text = "<0.1" if text == "0.0" else f"{value * 100:.2f}" if text == "100.0" else text
    return f"{'>99.99' if text == '100.00' else text}\u2009%"


def slug(name: str) -> str:
    """A file name for a name; two names never share one."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:80]
    return plain if plain == name else f"{plain or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def link(to: str, text: Any) -> Html:
    """A link to another page of the site."""
    return Html(f'<a href="{escape(to, quote=True)}">{safe(text)}</a>')


def links(items: Iterable[Html]) -> Html:
    """Several links, or a dash."""
    return Html(", ".join(items) or "–")


def code(text: Any) -> Html:
    """A name, an expression or a path."""
    return Html(f"<code>{safe(text)}</code>") if text not in (None, "") else Html("–")


def mark(status: str | None) -> Html:
    """A status by shape, colour and word."""
    kind = _MARKS.get(status or "", "none")
    return Html(f'<span class="mark {kind}">{safe((status or "never run").replace("_", " "))}</span>')


def verdict(kept: bool | None) -> Html:
    """Whether a promise is kept."""
    word, kind = {True: ("kept", "good"), False: ("broken", "bad")}.get(kept, ("not measured", "none"))  # type: ignore[arg-type]
    return Html(f'<span class="mark {kind}">{word}</span>')


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], empty: str, numbers: Sequence[int] = ()) -> Html:
    """A table; where there is nothing to show, a sentence says why."""
    listed = list(rows)
    if not listed:
        return Html(f"<p>{escape(empty)}</p>")

    def cell(tag: str, at: int, value: Any) -> str:
        kind = ' class="n"' if at in numbers else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{kind}{scope}>{safe(value)}</{tag}>"

    head = "".join(cell("th", at, text) for at, text in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell('td', at, v) for at, v in enumerate(row))}</tr>" for row in listed)
    return Html(
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def facts(values: Mapping[str, Any]) -> Html:
    """Names and values."""
    return Html("<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{safe(v)}</dd>" for name, v in values.items()) + "</dl>")


def section(title: str, *parts: str) -> Html:
    """A part of a page with its heading."""
    return Html(f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>")


def folded(title: str, body: str) -> Html:
    """What opens when somebody asks for it; without a script."""
    return Html(f"<details><summary>{escape(title)}</summary>{body}</details>")


def strip(runs: Sequence[Mapping[str, Any]]) -> Html:
    """Good and bad rows of the newest runs as bars, oldest first; the table below has the numbers."""
    counted = [
        (run["counts_good"] or 0, run["counts_quarantined"] or 0, run["status"] == "failed") for run in reversed(runs)
    ]
    most = max((good + bad for good, bad, _ in counted), default=0)
    if not most:
        return Html("")
    bars = []
    for at, (good, bad, failed) in enumerate(counted):
        high_good, high_bad = good / most * 60, bad / most * 60
        left = at * 10
        if failed:
            bars.append(f'<rect class="f" x="{left}" y="62" width="8" height="2"/>')
        bars.append(f'<rect class="g" x="{left}" y="{60 - high_good:.2f}" width="8" height="{high_good:.2f}"/>')
        if bad:
            top = max(60 - high_good - max(high_bad, 1.0), 0)
            bars.append(f'<rect class="b" x="{left}" y="{top:.2f}" width="8" height="{max(high_bad, 1.0):.2f}"/>')
    wide = max(len(counted), _SLOTS) * 10  # few runs are narrow bars, not broad ones
    return Html(
        f'<svg class="strip" viewBox="0 0 {wide} 66" preserveAspectRatio="none" role="img" '
        f'aria-label="Good and quarantined rows of the last {len(counted)} runs">{"".join(bars)}</svg>'
    )


def page(title: str, lead: str, body: str, *, depth: int, crumbs: Sequence[Html] = (), as_of: str) -> str:
    """A whole page; `depth` is how many folders it lies below the first one."""
    up = "../" * depth
    way = f'<p class="crumbs">{" / ".join(crumbs)}</p>' if crumbs else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f'<link rel="stylesheet" href="{up}style.css"></head><body><a class="skip" href="#main">To the content</a>'
        f'<header><strong>{link(f"{up}index.html", "Data estate")}</strong><nav aria-label="Site"><ul>'
        f"<li>{link(f'{up}index.html', 'Catalogue')}</li><li>{link(f'{up}lineage.html', 'Lineage')}</li>"
        f"<li>{link(f'{up}promises.html', 'Service levels')}</li><li>{link(f'{up}runs.html', 'Runs')}</li></ul></nav>"
        f'</header><main id="main">{way}<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>{body}</main>'
        f"<footer>As of {escape(as_of)}, by LakeLogic {escape(VERSION)}. Times are UTC.</footer></body></html>\n"
    )
