"""Templates for orchestrators: their structure as its makers document it, and commands that the driver understands."""

from __future__ import annotations

import ast
import importlib.util
import json
import shlex
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

from lakelogic.cli.drive import drive

FOLDER = Path(__file__).parents[2] / "examples/orchestrators"

_DEPENDS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["activity", "dependencyConditions"],
        "additionalProperties": False,
        "properties": {
            "activity": {"type": "string"},
            "dependencyConditions": {"items": {"enum": ["Succeeded", "Failed", "Skipped", "Completed"]}, "minItems": 1},
        },
    },
}
_POLICY = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "timeout": {"pattern": r"^\d+\.\d\d:\d\d:\d\d$"},
        "retry": {"type": "integer", "minimum": 0},
        "retryIntervalInSeconds": {"type": "integer", "minimum": 30, "maximum": 86400},
        "secureInput": {"type": "boolean"},
        "secureOutput": {"type": "boolean"},
    },
}


def _reference(kind: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["referenceName", "type"],
        "properties": {"referenceName": {"type": "string"}, "type": {"const": kind}},
    }


def _pipeline(kind: str, typed: dict[str, Any], *required: str, named: bool = True) -> dict[str, Any]:
    """A pipeline of the family that Data Factory began: activities with dependencies and policies."""
    activity = {
        "type": "object",
        "required": ["name", "type", "typeProperties", *required],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "maxLength": 55},
            "type": {"const": kind},
            "dependsOn": _DEPENDS,
            "policy": _POLICY,
            "userProperties": {"type": "array"},
            "typeProperties": {"type": "object", **typed},
            "linkedServiceName": _reference("LinkedServiceReference"),
        },
    }
    return {
        "type": "object",
        "required": ["name", "properties"] if named else ["properties"],
        "properties": {
            "properties": {
                "type": "object",
                "required": ["activities"],
                "properties": {
                    "activities": {"type": "array", "minItems": 1, "maxItems": 40, "items": activity},
                    "concurrency": {"type": "integer", "minimum": 1},
                },
            }
        },
    }


ADF = _pipeline(
    "Custom",
    {
        "required": ["command", "resourceLinkedService", "folderPath"],
        "properties": {"command": {"type": "string"}, "resourceLinkedService": _reference("LinkedServiceReference")},
    },
    "linkedServiceName",
)
SYNAPSE = _pipeline(
    "SparkJob",
    {
        "required": ["sparkJob"],
        "properties": {"sparkJob": _reference("SparkJobDefinitionReference"), "args": {"items": {"type": "string"}}},
    },
)
FABRIC = _pipeline(
    "TridentNotebook",
    {
        "required": ["notebookId", "workspaceId"],
        "properties": {
            "notebookId": {"pattern": "^[0-9a-f-]{36}$"},
            "workspaceId": {"pattern": "^[0-9a-f-]{36}$"},
            "parameters": {
                "additionalProperties": {
                    "required": ["value", "type"],
                    "properties": {"type": {"enum": ["string", "int", "float", "bool"]}},
                }
            },
        },
    },
    named=False,
)
_RETRY = {"items": {"type": "object", "required": ["ErrorEquals"], "properties": {"MaxAttempts": {"type": "integer"}}}}
STATES = {
    "type": "object",
    "required": ["StartAt", "States"],
    "properties": {
        "States": {
            "additionalProperties": {
                "type": "object",
                "required": ["Type"],
                "oneOf": [
                    {"properties": {"Type": {"const": "Fail"}}, "not": {"required": ["Next"]}},
                    {"properties": {"Type": {"const": "Choice"}}, "required": ["Choices"]},
                    {
                        "properties": {"Type": {"const": "Task"}, "Retry": _RETRY, "Catch": _RETRY},
                        "required": ["Resource"],
                        "oneOf": [{"required": ["Next"]}, {"required": ["End"]}],
                    },
                ],
            }
        }
    },
}
BUNDLE = {
    "type": "object",
    "required": ["bundle", "resources"],
    "properties": {
        "resources": {
            "properties": {
                "jobs": {
                    "additionalProperties": {
                        "type": "object",
                        "required": ["name", "tasks"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string"},
                            "max_concurrent_runs": {"type": "integer"},
                            "schedule": {"required": ["quartz_cron_expression", "timezone_id"]},
                            "environments": {"items": {"required": ["environment_key", "spec"]}},
                            "tasks": {
                                "items": {
                                    "required": ["task_key", "python_wheel_task"],
                                    "properties": {
                                        "task_key": {"pattern": "^[A-Za-z0-9_-]{1,100}$"},
                                        "depends_on": {"items": {"required": ["task_key"]}},
                                        "python_wheel_task": {
                                            "required": ["package_name", "entry_point"],
                                            "properties": {"parameters": {"items": {"type": "string"}}},
                                        },
                                    },
                                }
                            },
                        },
                    }
                }
            }
        }
    },
}
SCHEMAS = {
    "adf_pipeline.json": ADF,
    "synapse_pipeline.json": SYNAPSE,
    "fabric_pipeline.json": FABRIC,
    "aws_step_functions.json": STATES,
    "databricks_job.yml": BUNDLE,
}


def read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text("utf-8"))  # JSON is YAML


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_template_has_the_structure_that_its_makers_document(name: str) -> None:
    jsonschema.validate(read(name), SCHEMAS[name], cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", ["adf_pipeline.json", "synapse_pipeline.json", "fabric_pipeline.json"])
def test_activities_wait_for_activities_that_are_there(name: str) -> None:
    activities = read(name)["properties"]["activities"]
    assert [(one["name"], [dep["activity"] for dep in one["dependsOn"]]) for one in activities] == [
        ("bronze", []),
        ("silver", ["bronze"]),
        ("gold", ["silver"]),
    ]


def test_states_lead_to_states_that_are_there() -> None:
    machine = read("aws_step_functions.json")
    states = machine["States"]
    reached, waiting = set(), [machine["StartAt"]]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        state = states[name]
        branches = [*state.get("Choices", ()), *state.get("Catch", ())]
        waiting += [one for one in (state.get("Next"), state.get("Default"), *(b["Next"] for b in branches)) if one]
    assert reached == set(states)


def task_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lakelogic_task", FOLDER / "lakelogic_task.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands() -> dict[str, list[str]]:
    """The driver's arguments in every template."""
    found: dict[str, list[str]] = {}
    for one in read("adf_pipeline.json")["properties"]["activities"]:
        found[f"adf {one['name']}"] = shlex.split(one["typeProperties"]["command"])[1:]
    for one in read("synapse_pipeline.json")["properties"]["activities"]:
        found[f"synapse {one['name']}"] = one["typeProperties"]["args"]
    for one in read("fabric_pipeline.json")["properties"]["activities"]:
        found[f"fabric {one['name']}"] = json.loads(one["typeProperties"]["parameters"]["arguments"]["value"])
    for name, state in read("aws_step_functions.json")["States"].items():
        if state["Type"] == "Task":
            (container,) = state["Parameters"]["Overrides"]["ContainerOverrides"]
            found[f"aws {name}"] = container["Command"][1:]
    for one in read("databricks_job.yml")["resources"]["jobs"]["lakelogic"]["tasks"]:
        found[f"databricks {one['task_key']}"] = one["python_wheel_task"]["parameters"]
    found["python"] = task_module().command(["bronze"])[1:]
    return found


@pytest.mark.parametrize("name", commands())
def test_the_driver_understands_every_command(name: str) -> None:
    context = drive.make_context("lakelogic-driver", list(commands()[name]))
    assert context.params["registry"]
    assert set(",".join(context.params["layers"]).split(",")) <= {"reference", "bronze", "silver", "gold"}


@pytest.mark.parametrize(
    ("code", "raised"),
    [(0, None), (1, "LookAtIt"), (3, "LookAtIt"), (4, "TryLater"), (5, "TryLater"), (143, "TryLater")],
)
def test_exit_codes_say_whether_to_try_again(code: int, raised: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    module = task_module()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], code))
    if raised is None:
        module.run_pass(["bronze"])
        return
    with pytest.raises(getattr(module, raised), match=f"ended with {code}"):
        module.run_pass(["bronze"])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_python_templates_are_python(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_the_main_file_of_a_job_runs_a_pass_and_raises_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("driver_main", FOLDER / "driver_main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "_registry.yaml").write_text("entries: [{entity: a, contracts: {bronze: a.yaml}}]")
    (tmp_path / "a.yaml").write_text("info: {target_layer: bronze, owner: me}\nsource: {path: a.csv}\n"
                                     "materialization: {target_path: shop.bronze.a}\n")  # fmt: skip
    (tmp_path / "a.csv").write_text("id\n1\n")
    module.main(json.dumps(["--registry", "_registry.yaml", "--engine", "duckdb"]))
    with pytest.raises(RuntimeError, match="ended with 2"):
        module.main(["--registry", "nowhere.yaml"])
