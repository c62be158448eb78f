"""The estate as a static site: catalogue, contracts, lineage, promises, quality history. No row of a table is in it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from lakelogic import clock
from lakelogic.actions.author.posted import document_of
from lakelogic.actions.look import site_html as h
from lakelogic.actions.look.columns import columns_of
from lakelogic.actions.look.estate import EstateRequest
from lakelogic.actions.look.overview import described
from lakelogic.actions.look.promises import service_levels
from lakelogic.actions.look.queue_pages import Facets, QueueFilter, QueuePages
from lakelogic.actions.look.served import Served
from lakelogic.driver.graph import Graph
from lakelogic.driver.pictures.graphics import as_svg
from lakelogic.driver.registry import Member
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.ledger.ask import newest_runs
from lakelogic.run.surroundings import Surroundings

_OURS = ".lakelogic-site"  # in a folder that we made, and may make again
_RUNS = 30
_MOST_DRAWN = 300  # datasets in one drawing


@dataclass(frozen=True, slots=True)
class Built:
    """Where the site is, and how much of it."""

    folder: str
    pages: int
    datasets: int


@dataclass(slots=True)
class _SiteData:
    """What all pages are made of, asked for once."""

    served: Served
    graph: Graph
    members: Sequence[Member]
    runs: Mapping[str, list[dict[str, Any]]]
    queues: Mapping[str, Facets]
    promises: Mapping[str, dict[str, Any]]
    as_of: str

    def newest(self, dataset: str) -> dict[str, Any] | None:
        return next(iter(self.runs.get(dataset, ())), None)

    def judged(self, dataset: str) -> dict[str, Any] | None:
        """The newest run that read a row: one that found nothing new says nothing about the data."""
        return next((run for run in self.runs.get(dataset, ()) if run["counts_source"]), None)

    def domains(self) -> dict[str, list[Member]]:
        domains: dict[str, list[Member]] = {}
        for member in self.members:
            domains.setdefault(member.domain or "no domain", []).append(member)
        return dict(sorted(domains.items()))


def build_site(around: Surroundings, request: EstateRequest, out: str) -> Built:
    """Write the site of an estate into a folder; one that we did not make and that is not empty is left alone."""
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / _OURS).exists())):
        raise UsageError(f"`{out}` is there already, and no site of ours.", hint="Name an empty or a new folder.")
    estate = _looked_at(Served(around, request))
    pages = dict(_pages(estate))
    folder.parent.mkdir(parents=True, exist_ok=True)
    built = Path(tempfile.mkdtemp(prefix=".site-", dir=folder.parent))
    try:
        for name, text in pages.items():
            (built / name).parent.mkdir(parents=True, exist_ok=True)
            (built / name).write_text(text, encoding="utf-8")
        style = files("lakelogic.actions.look").joinpath("site.css").read_text(encoding="utf-8")
        (built / "style.css").write_text(style, encoding="utf-8")
        (built / _OURS).write_text("Made by `lakelogic docs build`; made again as a whole.\n", encoding="utf-8")
        built.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        built.replace(folder)
    finally:
        shutil.rmtree(built, ignore_errors=True)
    return Built(str(folder), len(pages), len(estate.members))


def _looked_at(served: Served) -> _SiteData:
    members = served.members()
    runs = newest_runs(served.around.ledger.database, [member.dataset for member in members], _RUNS)
    pages, queues = QueuePages(served.around.catalog), dict[str, Facets]()
    for member in members:
        try:
            queues[member.dataset] = pages.facets(member, QueueFilter())
        except LakeLogicError:
            continue  # a quarantine that cannot be read is not told as empty
    promised = {each["dataset"]: each for each in service_levels(served, None, _RUNS)}
    graph = served.report().estate.graph
    return _SiteData(served, graph, members, runs, queues, promised, f"{clock.now():%Y-%m-%d %H:%M} UTC")


def _pages(estate: _SiteData) -> list[tuple[str, str]]:
    pages = [
        ("index.html", _catalogue(estate)), ("lineage.html", _lineage(estate)), ("runs.html", _runs(estate)),
        ("promises.html", _promises(estate)),
    ]  # fmt: skip
    pages += [(f"domains/{h.slug(name)}.html", _domain(estate, name, some)) for name, some in estate.domains().items()]
    pages += [(f"datasets/{h.slug(member.dataset)}.html", _dataset(estate, member)) for member in estate.members]
    return pages


def _to(dataset: str, depth: int) -> h.Html:
    return h.link(f"{'../' * depth}datasets/{h.slug(dataset)}.html", dataset)


def _listing(estate: _SiteData, members: Sequence[Member], depth: int) -> h.Html:
    rows = []
    for member in members:
        run, queue = estate.newest(member.dataset), estate.queues.get(member.dataset)
        about = described(member)
        rows.append((
            _to(member.dataset, depth), member.layer, h.mark(run["status"] if run else None),
            _good_share(estate.judged(member.dataset)), queue.total if queue else None, about["title"],
            about["owner"], about["data_product"], run["started_at"] if run else None,
        ))  # fmt: skip
    heads = ("dataset", "layer", "newest run", "good", "quarantined", "what it is", "owner", "product", "ran")
    return h.table(heads, rows, "No contract was found here.", numbers=(3, 4))


def _good_share(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return "–"
    good, bad = run["counts_good"], run["counts_quarantined"]
    return h.share(good / (good + bad)) if good is not None and bad is not None and good + bad else "–"


def _catalogue(estate: _SiteData) -> str:
    waiting = sum(queue.total for queue in estate.queues.values())
    failed = sum(1 for member in estate.members if (run := estate.newest(member.dataset)) and run["status"] == "failed")
    broken = sum(level["kept"] is False for promise in estate.promises.values() for level in promise["levels"])
    lead = (
        f"{h.many(len(estate.members), 'dataset')} in {h.many(len(estate.domains()), 'domain')}; {failed} failed in "
        f"the newest run, {h.many(broken, 'promise')} broken, {h.many(waiting, 'row')} quarantined."
    )
    body = "".join(
        h.section(name, f"<p>{h.link(f'domains/{h.slug(name)}.html', 'About this domain')}</p>",
                  _listing(estate, some, 0))
        for name, some in estate.domains().items()
    ) or "<p>No contract was found here.</p>"  # fmt: skip
    problems = estate.served.report().problems
    if problems:
        rows = [
            (problem.severity, problem.message, h.code(problem.where.file), problem.where.line) for problem in problems
        ]
        body += h.section("What is wrong with contracts", h.table(("gravity", "what", "file", "line"), rows, ""))
    return h.page("Catalogue", lead, body, depth=0, as_of=estate.as_of)


def _domain(estate: _SiteData, name: str, members: Sequence[Member]) -> str:
    graph = estate.graph.only([member.dataset for member in members])
    body = _listing(estate, members, 1)
    if len(members) <= _MOST_DRAWN:
        body = h.Html(body + h.section("How they hang together", f'<div class="picture">{as_svg(graph)}</div>'))
    crumbs = (h.link("../index.html", "Catalogue"),)
    lead = f"{h.many(len(members), 'dataset')}."
    return h.page(name, lead, body, depth=1, crumbs=crumbs, as_of=estate.as_of)


def _lineage(estate: _SiteData) -> str:
    drawn = ""
    if len(estate.members) <= _MOST_DRAWN:
        drawn = f'<div class="picture">{as_svg(estate.graph)}</div>'
    rows = [
        (
            _to(edge.upstream, 0),
            _to(edge.downstream, 0),
            ", ".join(edge.kinds),
            h.code(edge.where.file),
            edge.where.line,
        )
        for edge in estate.graph.edges
    ]
    heads = ("made of", "dataset", "known by", "file", "line")
    body = drawn + h.section("Edges", h.table(heads, rows, "No dataset is made of another one.", numbers=(4,)))
    unknown = [(_to(edge.downstream, 0), edge.upstream) for edge in estate.graph.unknown]
    if unknown:
        body += h.section("Made elsewhere", h.table(("dataset", "needs"), unknown, ""))
    return h.page("Lineage", "What each dataset is made of.", body, depth=0, as_of=estate.as_of)


def _runs(estate: _SiteData) -> str:
    runs = sorted((run for some in estate.runs.values() for run in some), key=_started, reverse=True)[:500]
    lead = f"The newest {len(runs)} runs of all datasets, newest first; of each dataset at most {_RUNS}."
    body = _run_table(runs, with_dataset=True)
    return h.page("Runs", lead, body, depth=0, as_of=estate.as_of)


def _started(run: Mapping[str, Any]) -> Any:
    return run["started_at"], run["run_id"]


def _run_table(runs: Sequence[Mapping[str, Any]], *, with_dataset: bool) -> h.Html:
    rows = []
    for run in runs:
        cells = (
            run["started_at"], h.mark(run["status"]), run["counts_source"], run["counts_good"],
            run["counts_quarantined"], _good_share(run), run["duration_seconds"], run["contract_version"],
            h.code(run["run_id"]),
        )  # fmt: skip
        rows.append((_to(run["dataset"], 0), *cells) if with_dataset else cells)
    heads = ("started", "run", "read", "good", "quarantined", "good share", "seconds", "contract", "id")
    numbers = tuple(at + with_dataset for at in (2, 3, 4, 5, 6))
    return h.table(("dataset", *heads) if with_dataset else heads, rows, "It has never run.", numbers)


def _promises(estate: _SiteData) -> str:
    rows = [
        (_to(name, 0), level["name"], level["promised"], _found(level), h.verdict(level["kept"]), level["since"],
         h.share(level["attained"]), level["breaches"])
        for name, promise in estate.promises.items()
        for level in promise["levels"]
    ]  # fmt: skip
    heads = ("dataset", "level", "promised", "found", "now", "since", "kept in runs", "breaches")
    silent = sum(not promise["levels"] for promise in estate.promises.values())
    lead = f"What datasets promise, over their newest {_RUNS} runs; {silent} promise nothing."
    body = h.table(heads, rows, "No contract of this estate promises anything.", numbers=(6, 7))
    return h.page("Service levels", lead, body, depth=0, as_of=estate.as_of)


def _found(level: Mapping[str, Any]) -> str:
    if level["found"] is None:
        return "–"
    return h.share(level["found"]) if level["unit"] == "share" else f"{h.shown(level['found'])} {level['unit']}"


def _dataset(estate: _SiteData, member: Member) -> str:
    name, contract = member.dataset, member.loaded.contract
    about = described(member)
    runs = estate.runs.get(name, [])
    near = {
        "made of": h.links(_to(upstream, 1) for upstream in estate.graph.upstreams(name)),
        "makes": h.links(_to(downstream, 1) for downstream in estate.graph.downstreams(name)),
    }
    facts = {
        "domain": h.link(f"../domains/{h.slug(member.domain or 'no domain')}.html", member.domain or "no domain"),
        "system": about["system"], "product": about["data_product"], "layer": member.layer, "owner": member.owner,
        "table": h.code(about["target"]), "strategy": about["strategy"], "key": ", ".join(about["primary_key"]),
        "contract": h.Html(f"{h.code(member.file)}, version {h.safe(contract.contract_version)}"), **near,
    }  # fmt: skip
    queue = estate.queues.get(name)
    waiting = [(rule, rows) for rule, rows in (queue.counts.get("rule", {}) if queue else {}).items()]
    levels = [
        (level["name"], level["promised"], _found(level), h.verdict(level["kept"]), level["since"])
        for level in estate.promises[name]["levels"]
    ]
    body: str = h.facts(facts)
    body += h.section("Columns", _columns(estate, member))
    body += h.section("Rules", _rules(member))
    body += h.section(
        "Service levels", h.table(("level", "promised", "found", "now", "since"), levels, "It promises nothing.")
    )
    body += h.section(
        "Quarantine", h.table(("rule", "rows that wait"), waiting, "No row waits in its quarantine.", numbers=(1,))
    )
    body += h.section("Quality history", h.strip(runs), _run_table(runs, with_dataset=False))
    written = json.dumps(document_of(member.loaded), indent=2, ensure_ascii=False, default=str)
    body += h.section("Contract", h.folded("As it is resolved", f"<pre>{h.safe(written)}</pre>"), _origins(member))
    crumbs = (h.link("../index.html", "Catalogue"), facts["domain"])
    lead = contract.info.description or about["title"] or "No description."
    return h.page(name, lead, body, depth=1, crumbs=crumbs, as_of=estate.as_of)


def _columns(estate: _SiteData, member: Member) -> h.Html:
    declared = {field.name.lower(): field for field in member.loaded.contract.model.fields}
    rows = []
    for column in columns_of(estate.served, member.dataset)["columns"]:
        field = declared.get(column["column"].lower())
        origins = h.Html("<br>".join(_made_of(up) for up in column["upstream"]) or h.safe(column["kind"]))
        below = h.links(
            h.Html(f"{_to(down['dataset'], 1)}.{h.safe(down['column'])}") for down in column["downstream"]
        )  # fmt: skip
        personal = "in clear" if field is not None and (field.pii or field.phi) else None
        rows.append((
            h.code(column["column"]), column["type"], bool(field and field.required), column["masked"] or personal,
            field.description if field else None, origins, below,
        ))  # fmt: skip
    heads = ("column", "type", "required", "masked", "what it is", "made of", "makes")
    return h.table(heads, rows, "Its columns are not known before it has run.")


def _made_of(up: Mapping[str, Any]) -> str:
    where = _to(up["dataset"], 1) if up["dataset"] else h.code(up["name"])
    steps = " → ".join(step["expression"] for step in up["steps"])
    steps_text = f" {h.code(steps)}" if steps else ""
    return f"{where}.{h.safe(up['column'])} ({h.safe(up['kind'])}){steps_text}"


def _rules(member: Member) -> h.Html:
    quality = member.loaded.contract.quality
    rows = [
        (rule.name or rule.kind, over, rule.severity, h.code(_written(rule)))
        for over, rules in (("rows", quality.row_rules), ("dataset", quality.dataset_rules))
        for rule in rules
    ]
    return h.table(("rule", "over", "severity", "what it asks"), rows, "It has no rules of its own beside its fields.")


def _written(rule: Any) -> str:
    data = rule.model_dump(
        mode="json", exclude_defaults=True, exclude={"name", "kind", "severity", "label", "category"}
    )
    if set(data) == {"sql"}:
        return str(data["sql"])
    return f"{rule.kind}: {json.dumps(data, ensure_ascii=False)}"


def _origins(member: Member) -> h.Html:
    rows = [
        (h.code(path), h.code(where.file), where.line)
        for path, where in member.loaded.origins.items()
        if path
    ]  # fmt: skip
    body = h.table(("value", "file", "line"), rows, "Nothing is known of where its values come from.", numbers=(2,))
    return h.folded("Where every value comes from", body)
