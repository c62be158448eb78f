"""What an estate looks like in one glance: its layers, what was rejected and why, what could be exported."""

from __future__ import annotations

from typing import Any

from lakelogic.actions.look.preview import first_rows
from lakelogic.actions.look.queue_pages import QueueFilter, QueuePages
from lakelogic.actions.look.served import Served
from lakelogic.actions.operate.export import kinds, status
from lakelogic.actions.visibility.hidden import concealed, veiled, veiled_run
from lakelogic.contract.governance import LAYERS
from lakelogic.driver.registry import Member
from lakelogic.errors import NotFound, UsageError
from lakelogic.ledger.ask import newest_runs
from lakelogic.run.places import places
from lakelogic.version import VERSION

Domains = frozenset[str | None] | None  # None: all of them
_IN_SHORT = (
    "run_id", "status", "started_at", "finished_at", "duration_seconds", "counts_source", "counts_good",
    "counts_quarantined", "quality_score", "target_version",
)  # fmt: skip


def visible(served: Served, domains: Domains) -> list[Member]:
    """The datasets that somebody may see, in the order of a pass."""
    return [member for member in served.members() if domains is None or member.domain in domains]


def datasets(served: Served, domains: Domains, runs: int = 1) -> list[dict[str, Any]]:
    """Every dataset with its newest run: two verdicts side by side, did it run and is the data good.

    With more runs than one, the newest of them come along in short.
    """
    members = visible(served, domains)
    newest = newest_runs(served.around.ledger.database, [member.dataset for member in members], runs)
    newest = {name: [veiled_run(served, run) for run in newest] for name, newest in newest.items()}
    items = [{**described(member), "last_run": _glance(newest.get(member.dataset))} for member in members]
    if runs > 1:
        for item in items:
            item["recent"] = [{name: run[name] for name in _IN_SHORT} for run in newest.get(item["dataset"], [])]
    return items


def described(member: Member) -> dict[str, Any]:
    """What a dataset is, out of its contract."""
    contract, as_written = member.loaded.contract, member.loaded.as_written
    return {
        "dataset": member.dataset, "entity": member.entity, "layer": member.layer, "domain": member.domain,
        "system": member.system, "data_product": contract.info.data_product, "owner": as_written(member.owner),
        "title": as_written(contract.info.title), "description": contract.info.description, "enabled": member.enabled,
        "contract_version": contract.contract_version, "file": member.file,
        "strategy": contract.materialization.strategy, "target": as_written(contract.materialization.target_path),
        "primary_key": list(contract.key or ()),
    }  # fmt: skip


def dataset(served: Served, name: str, domains: Domains = None) -> dict[str, Any]:
    """One dataset: its contract in short, its columns, its newest runs, its neighbours that somebody may see."""
    member = served.member(name)
    graph = served.report().estate.graph
    seen = {member_.dataset for member_ in visible(served, domains)}
    contract = member.loaded.contract
    runs = [
        veiled_run(served, run) for run in newest_runs(served.around.ledger.database, [name], each=14).get(name, [])
    ]
    fields = [
        {
            "name": field.name, "type": field.type, "required": bool(field.required), "description": field.description,
            "masking": field.masking, "personal": bool(field.pii or field.phi),
        }
        for field in contract.model.fields
    ]  # fmt: skip
    return {
        **described(member),
        "fields": fields,
        "rules": [rule.name or rule.kind for rule in contract.quality.row_rules],
        "upstreams": [upstream for upstream in graph.upstreams(name) if upstream in seen],
        "downstreams": sorted({edge.downstream for edge in graph.edges if edge.upstream == name} & seen),
        "last_run": _glance(runs),
        "runs": runs,
    }


def _glance(runs: list[dict[str, Any]] | None) -> dict[str, Any] | None:
    return runs[0] if runs else None


def quality_report(served: Served, pages: QueuePages, domains: Domains, limit: int = 20) -> dict[str, Any]:
    """What the rules rejected, dataset by dataset, with the newest rejected rows, masked as they are kept."""
    reports = []
    for member in visible(served, domains):
        facets = pages.facets(member, QueueFilter())
        if facets.version is None:
            continue
        rows = [pages.row(member, row["row_id"]) for row in pages.page(member, QueueFilter(limit=limit)).rows]
        rules = member.loaded.contract.quality.row_rules
        reports.append({
            "dataset": member.dataset, "layer": member.layer, "quarantine": facets.table, "rejected": facets.total,
            "by_reason": facets.counts["rule"],
            "rules": [{"name": rule.name, "label": rule.label, "severity": rule.severity} for rule in rules],
            "rejected_rows": [
                {**veiled(served, member.dataset, row["values"]), "rejection_reason": row["rejection_reason"]}
                for row in rows
            ],
        })  # fmt: skip
    return {"rejected": sum(report["rejected"] for report in reports), "datasets": reports}


def table_preview(served: Served, layer: str, domains: Domains, limit: int = 20) -> dict[str, Any]:
    """The first rows of every table of a layer, masked as they are kept."""
    wanted = LAYERS.get(layer)
    if wanted is None:
        raise NotFound(f"There is no layer `{layer}`.", hint=f"Layers are {', '.join(sorted(set(LAYERS.values())))}.")
    tables = []
    for member in visible(served, domains):
        if member.layer == wanted:
            tables.append(sample(served, member, limit))
    return {"layer": wanted, "tables": tables}


def sample(served: Served, member: Member, limit: int = 20) -> dict[str, Any]:
    """The first rows of a dataset's table, without stamps; what is masked further down is hidden.

    There are none where it has never run.
    """
    where = places(member.loaded.contract, served.around.catalog)
    try:
        rows = first_rows(served.around.catalog, where.target_location, limit)
    except UsageError:
        return {
            "dataset": member.dataset,
            "table": where.target,
            "version": None,
            "total": 0,
            "columns": [],
            "hidden": [],
            "rows": [],
        }
    columns = [name for name in rows.columns if not name.startswith("_lakelogic_")]
    hidden = concealed(served, member.dataset, columns)
    return {
        "dataset": member.dataset, "table": where.target, "version": rows.version, "total": rows.total,
        "columns": columns, "hidden": sorted(name for name in columns if name.lower() in hidden),
        "rows": [veiled(served, member.dataset, {name: row[name] for name in columns}) for row in rows.rows],
    }  # fmt: skip


def pipeline_summary(served: Served, domains: Domains) -> dict[str, Any]:
    """Rows in, good and quarantined, layer by layer, as the newest run of each dataset counted them."""
    layers: dict[str, dict[str, Any]] = {}
    for entry in datasets(served, domains):
        layer = layers.setdefault(
            entry["layer"] or "none", {"datasets": 0, "ran": 0, "source": 0, "good": 0, "quarantined": 0, "runs": []}
        )
        layer["datasets"] += 1
        if (run := entry["last_run"]) is not None:
            layer["ran"] += 1
            for name in ("source", "good", "quarantined"):
                layer[name] += run[f"counts_{name}"] or 0
            kept = ("run_id", "dataset", "status", "engine", "started_at", "duration_seconds", "quality_score")
            layer["runs"].append({name: run[name] for name in kept})
    return {"version": VERSION, "layers": layers}


def export_status(served: Served, domains: Domains) -> dict[str, Any]:
    """Which destinations are configured here, and every export with what was sent when and what it lacks."""
    members = {member.dataset: member for member in visible(served, domains)}
    items = status(served.around, [member.loaded.contract for member in members.values()])
    for item in items:
        item["target"] = members[item["dataset"]].loaded.as_written(item["target"])
    return {"exports": kinds(served.around), "items": items}
