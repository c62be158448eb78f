"""Files for containers, clusters, clouds and continuous integration: well-formed by their own schemas, and as safe as they say.

`make test-deploy` adds the linters that are too large for every change, and runs the image's command line.
"""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import hcl2
import jsonschema
import pytest
import yaml

from lakelogic.cli.main import cli
from lakelogic.exports.settings import WAYS

ROOT = Path(__file__).parents[2]
KUBERNETES = sorted((ROOT / "infra/kubernetes").rglob("*.yaml"))
OBJECTS = [
    (path, one)
    for path in KUBERNETES
    if path.name != "kustomization.yaml"
    for one in yaml.safe_load_all(path.read_text("utf-8"))
]
PODS = [
    (path.name, one["metadata"]["name"], (one["spec"].get("jobTemplate", one)["spec"])["template"]["spec"])
    for path, one in OBJECTS
    if one["kind"] in ("Deployment", "Job", "CronJob")
]


def schema(name: str) -> Any:
    return json.loads((files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{name}.json").read_text("utf-8"))


def document(path: str) -> Any:
    # YAML 1.1 reads `on` as true; workflows mean the word.
    text = (ROOT / path).read_text("utf-8")
    return yaml.safe_load(re.sub(r"^on:", '"on":', text, flags=re.MULTILINE))


def knows(words: list[str]) -> bool:
    """Whether the command line takes these words."""
    found = cli.get_command(click.Context(cli), words[0])
    return found is not None and found.make_context(words[0], list(words[1:])) is not None


def instructions(path: Path) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, continued lines put together."""
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE))
    return [
        (word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)
    ]


def test_the_composition_is_one_by_its_own_schema():
    jsonschema.validate(document("docker-compose.yml"), schema("compose-spec"))


def test_the_workflow_tests_every_python_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    named = ["3." + line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)]
    tested = document(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert tested == named
    assert project["requires-python"] == f">={named[0]}"
    looked_for = (ROOT / "scripts" / "ensure_venv.sh").read_text("utf-8")
    assert [version for version in named if f"python{version}" not in looked_for] == []


def test_the_workflow_is_one_by_its_own_schema_and_calls_targets_that_are_there():
    workflow = document(".github/workflows/ci.yml")
    jsonschema.validate(workflow, schema("github-workflows"))
    assert set(workflow["jobs"]) == {"lint", "test", "smoke", "image"}
    assert workflow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    runs = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    called = {word for run in runs if run.startswith("make ") for word in run.split()[1:] if "=" not in word}
    assert called <= targets
    assert called >= {"lint", "test", "build"}


@pytest.mark.parametrize("name", ["Dockerfile", "infra/kubernetes/spark/Dockerfile"])
def test_an_image_ends_without_root_and_names_what_it_starts(name):
    found = instructions(ROOT / name)
    stage = found[max(at for at, (word, _) in enumerate(found) if word == "FROM") :]
    assert [rest for word, rest in stage if word == "USER"][-1] == "10001"
    assert all(word in {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD", "ARG"} for word, _ in found)  # fmt: skip
    images = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert all("/" not in image and ":" in image and not image.endswith(":latest") for image in images)
    command = json.loads(next(rest for word, rest in stage if word == "CMD"))
    assert knows(command)


def test_what_the_image_copies_is_there_and_the_page_is_built_before_the_wheel():
    found = instructions(ROOT / "Dockerfile")
    copied = [rest.split()[:-1] for word, rest in found if word == "COPY" and "--from" not in rest]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    words = [f"{word} {rest}" for word, rest in found]
    page = next(at for at, line in enumerate(words) if "npm run build" in line)
    brought = next(at for at, line in enumerate(words) if line.startswith("COPY --from=page"))
    installed = next(at for at, line in enumerate(words) if "pip wheel" in line)
    assert page < brought < installed
    pins = (ROOT / "scripts/pin_requirements.sh").read_text("utf-8")
    chosen = re.search(r"printf ' --extra %s' ([a-z0-9 ]+)\)", pins)
    assert chosen is not None
    extras = chosen[1].split()
    offered = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert set(extras) <= set(offered)


def test_what_stays_outside_is_left_out_of_the_image():
    left_out = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".env", ".venv", "ui/node_modules", "src/lakelogic/ui/dist"} <= set(left_out)


def test_every_setting_of_the_deployment_page_reaches_the_containers_of_the_composition():
    page = (ROOT / "docs/how-to/deploy.md").read_text("utf-8").partition("## Settings")[2]
    named = set(re.findall(r"`(LAKELOGIC_[A-Z_]+)`", page)) | {f"LAKELOGIC_OIDC_{one}" for one in ("AUDIENCE", "KEYS")}
    # Where tables lie and what runs them is the image's own business.
    settings = named - {"LAKELOGIC_LEDGER", "LAKELOGIC_WAREHOUSE", "LAKELOGIC_ENGINE"}
    composed = document("docker-compose.yml")["services"]
    example = (ROOT / ".env.example").read_text("utf-8")
    assert {"LAKELOGIC_OIDC_ISSUER", "LAKELOGIC_PII_SALT", "LAKELOGIC_API_HOSTS"} <= settings
    for name in ("service", "worker"):
        assert {one: composed[name]["environment"].get(one) for one in settings} == {
            one: f"${{{one}:-}}" for one in settings
        }
    assert [one for one in sorted(settings) if f"\n{one}=\n" not in example] == []


def test_every_variable_of_an_export_stands_in_the_example():
    example = (ROOT / ".env.example").read_text("utf-8")
    first = {name for ways in WAYS.values() for way in ways[:1] for name in way}
    assert [name for name in sorted(first) if f"\n{name}=\n" not in example] == []


def test_terraform_parses_and_uses_only_what_it_declares():
    texts = {path.name: path.read_text("utf-8") for path in (ROOT / "infra/terraform").glob("*.tf")}
    parsed = {name: hcl2.loads(text) for name, text in texts.items()}
    declared = {next(iter(one)).strip('"') for one in parsed["variables.tf"]["variable"]}
    used = {name for text in texts.values() for name in re.findall(r"\bvar\.(\w+)", text)}
    assert used == declared
    made = {tuple(part.strip('"') for part in (kind, name)) for one in parsed["main.tf"]["resource"] for kind, named in one.items() for name in named if not kind.startswith("__")}  # fmt: skip
    referred = {(kind, name) for text in texts.values() for kind, name in re.findall(r"\b(google_\w+)\.(\w+)\b", text)}
    assert referred <= made
    assert ("google_cloud_run_v2_service", "service") in made
    for words in re.findall(r"args\s*=\s*(\[[^\]]*\])", texts["main.tf"]):
        assert knows(json.loads(words))


def test_what_the_service_and_the_pass_on_cloud_run_share_is_said_once():
    text = (ROOT / "infra/terraform/main.tf").read_text("utf-8")
    said, made = text.split("resource ", 1)
    for shared in ("var.nfs_server", "var.nfs_path", "var.network", "var.subnetwork", '"/data"'):
        assert (shared, said.count(shared), made.count(shared)) == (shared, 1, 0)
    # Each of the two mounts the same volume in the same folder, of the same server.
    for used in ("mount_path = local.data.folder", "server = local.data.server", "egress = local.network.egress"):
        assert (used, made.count(used)) == (used, 2)
    volumes = re.findall(r"(?:volume_mounts|volumes) \{\s*name\s*=\s*(\S+)", made)
    assert volumes == ["local.data.volume"] * 4


@pytest.mark.parametrize(("path", "one"), OBJECTS, ids=lambda one: one.name if isinstance(one, Path) else one["kind"])
def test_an_object_of_the_cluster_says_what_it_is(path, one):
    assert re.fullmatch(r"(v1|[a-z.0-9]+/v1)", one["apiVersion"])
    assert re.fullmatch(r"[a-z][a-z0-9-]*", one["metadata"]["name"])
    if one["kind"] == "Deployment":
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"].items() <= labels.items()
    if one["kind"] == "Secret":
        assert set(one["stringData"].values()) == {""}


@pytest.mark.parametrize(("file", "name", "pod"), PODS, ids=[f"{name}" for _, name, _ in PODS])
def test_a_pod_runs_without_root_with_little_and_starts_what_there_is(file, name, pod):
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 10001
    mounted = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        safe = container["securityContext"]
        assert (safe["allowPrivilegeEscalation"], safe["capabilities"]) == (False, {"drop": ["ALL"]})
        # Spark keeps its shuffle files beside itself.
        assert safe.get("readOnlyRootFilesystem") or file == "spark.yaml"
        assert container["resources"]["limits"]["memory"]
        assert {mount["name"] for mount in container["volumeMounts"]} <= mounted
        assert knows(container["args"])


def test_the_kustomization_names_every_file_but_the_example_and_spark():
    listed = yaml.safe_load((ROOT / "infra/kubernetes/kustomization.yaml").read_text("utf-8"))["resources"]
    there = {path.name for path in KUBERNETES if path.parent.name == "kubernetes"}
    assert set(listed) == there - {"kustomization.yaml", "secret.example.yaml"}


def test_a_pod_of_spark_starts_an_executor_or_the_command_line():
    spec = importlib.util.spec_from_file_location("lakelogic_spark_start", ROOT / "infra/kubernetes/spark/start.py")
    assert spec is not None
    assert spec.loader is not None
    start = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(start)
    assert start.command(["drive", "--plan"], {}, "") == ["lakelogic", "drive", "--plan"]
    told = {
        "SPARK_EXECUTOR_MEMORY": "4g", "SPARK_DRIVER_URL": "spark://d:7078", "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "2", "SPARK_APPLICATION_ID": "app", "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
        "SPARK_RESOURCE_PROFILE_ID": "0", "SPARK_EXECUTOR_POD_NAME": "p", "SPARK_JAVA_OPT_10": "-Dlast",
        "SPARK_JAVA_OPT_2": "-Dfirst",
    }  # fmt: skip
    assert start.command(["executor"], told, "jars/*") == [
        "java", "-Dfirst", "-Dlast", "-Xms4g", "-Xmx4g", "-cp", "jars/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend", "--driver-url", "spark://d:7078",
        "--executor-id", "1", "--cores", "2", "--app-id", "app", "--hostname", "10.0.0.1", "--resourceProfileId", "0",
        "--podName", "p",
    ]  # fmt: skip


def test_packages_of_the_image_are_checked_by_their_hashes():
    made = [ROOT / "Dockerfile", *(ROOT / "infra").rglob("Dockerfile")]
    commands = [rest for path in made for word, rest in instructions(path) if word == "RUN"]
    installs = [part for rest in commands for part in rest.split("&&") if "pip install" in part or "pip wheel" in part]
    assert installs
    assert [one for one in installs if "--require-hashes" not in one and "--no-index" not in one] == []
    for name in ("image", "image-spark", "build"):
        lines = (ROOT / f"requirements/{name}.txt").read_text("utf-8").splitlines()
        pinned = [at for at, line in enumerate(lines) if re.match(r"[a-z0-9]", line, re.IGNORECASE)]
        assert pinned
        assert all("==" in lines[at] and "--hash=sha256:" in lines[at + 1] for at in pinned)


def test_pins_of_the_image_are_those_that_are_tested():
    def versions(name):
        text = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
        return dict(re.findall(r"^([A-Za-z0-9_.-]+)(?:\[.*?\])?==(\S+)", text, re.MULTILINE))

    tested = versions("dev")
    for name in ("image", "image-spark", "build"):
        assert {package: tested.get(package) for package in versions(name)} == versions(name)


def test_nothing_floats():
    """A name without a version, or `latest`, would be something else tomorrow. Digests are looked up where one publishes."""
    images = [rest.split()[0] for word, rest in instructions(ROOT / "Dockerfile") if word == "FROM"]
    images += [one["image"] for one in document("docker-compose.yml")["services"].values() if "build" not in one]
    # Our own image has its version from whoever deploys it.
    images += [one["image"] for _, _, pod in PODS for one in pod["containers"] if one["image"] != "lakelogic"]
    for image in images:
        tag = image.partition("@")[0].rpartition(":")[2] if ":" in image else ""
        assert "@sha256:" in image or (tag and tag != "latest" and re.search(r"\d", tag)), image
    workflow = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    used = re.findall(r"^\s*- uses:\s*(\S+)", workflow, re.MULTILINE)
    assert used
    assert [one for one in used if not re.search(r"@(v\d+|[0-9a-f]{40})$", one)] == []


def test_jars_are_known_by_their_checksums(tmp_path):
    from lakelogic.engines.spark.runtime import installation

    version = installation.DELTA_PACKAGE.rpartition(":")[2]
    assert f"delta-spark_4.1_2.13-{version}.jar" in installation.CHECKSUMS
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in installation.CHECKSUMS.values())
    name = next(iter(installation.CHECKSUMS))
    (tmp_path / name).write_bytes(b"something else")
    (tmp_path / "extra-1.0.jar").touch()
    told = installation.strange_jars(tmp_path)
    assert told == [f"{name} has another content than was pinned", "extra-1.0.jar is not known"]
    assert installation.strange_jars(installation.jars_folder()) == []
