"""The image and its composition: what they start is what the command line knows, and nothing runs as root."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
import yaml

from lakelogic.cli.main import cli

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
COMMANDS = [
    json.loads(re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1]),
    *(service["command"] for service in COMPOSE["services"].values() if "command" in service),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_a_container_starts_is_a_command_with_options_that_it_has(command: list[str]) -> None:
    found = cli.get_command(click.Context(cli), command[0])
    assert found is not None
    found.make_context(command[0], command[1:])


def test_nothing_runs_as_root_or_writes_outside_its_places() -> None:
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.search(r"^USER 10001$", last, re.MULTILINE)
    assert json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", last, re.MULTILINE)[1]) == ["lakelogic"]
    for name in ("service", "worker", "lab"):
        service = COMPOSE["services"][name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    assert COMPOSE["services"]["service"]["ports"] == ["127.0.0.1:8096:8096"]


def test_every_variable_of_the_composition_stands_in_the_example_and_holds_no_secret() -> None:
    example = dict(
        line.split("=", 1)
        for line in (ROOT / ".env.example").read_text("utf-8").splitlines()
        if re.match(r"[A-Z]", line)
    )
    used = set(re.findall(r"\$\{([A-Z0-9_]+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    assert used <= set(example)
    assert set(example.values()) == {""}
    assert ".env" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_make_targets_of_the_lab_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("install", "test", "lint", "build", "pipeline", "verify", "serve", "docker-run"):
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target
