"""The official validators of the formats accept `deploy/`. `make validators` installs two; the others come from the machine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.deployment import COMPOSE, DEPLOY, DOCKERFILE, KUBERNETES, SECRETS, documents

SECONDS = 120
KUBERNETES_VERSIONS = ("1.30", "1.34")
"""The oldest version against which the manifests are validated, and a later one."""


def _program(name: str, *, is_installed_in_ci: bool) -> str:
    """Returns the path of a program. If it is missing, skips the test, or in CI fails if it is installed there."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if found is None:
        if is_installed_in_ci and os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
            pytest.fail(f"{name} is required here")
        pytest.skip(f"{name} is not on this machine")
    return found


def _run(*command: str | Path, input_: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], input=input_, capture_output=True, text=True, timeout=SECONDS, check=False)


def _rendered(directory: Path) -> str:
    done = _run(_program("kubectl", is_installed_in_ci=False), "kustomize", directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _with_components(base: Path) -> Path:
    """Returns a copy of the kustomization with its commented-out components enabled."""
    copy = base / "kubernetes"
    shutil.copytree(KUBERNETES, copy)
    file = copy / "kustomization.yaml"
    commented = "# components:\n#   - snapshots\n#   - autoscaling\n"
    text = file.read_text().replace(commented, "components:\n  - snapshots\n  - autoscaling\n")
    assert "\ncomponents:" in text
    file.write_text(text)
    return copy


def _validate(version: str, *files: Path) -> None:
    validator = _program("kubernetes-validate", is_installed_in_ci=True)
    done = _run(validator, "--strict", "--kubernetes-version", version, *files)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_kubernetes_knows_every_field_of_the_manifests(version: str):
    components = ("snapshots/volume.yaml", "autoscaling/servers.yaml")
    files = [KUBERNETES / name for name in (*documents(KUBERNETES / "kustomization.yaml")[0]["resources"], *components)]

    _validate(version, *files, SECRETS)


@pytest.mark.slow
@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
@pytest.mark.parametrize("has_components", [False, True])
def test_kubernetes_knows_every_field_of_what_kustomize_makes(version: str, has_components: bool, tmp_path: Path):
    rendered = _rendered(_with_components(tmp_path) if has_components else KUBERNETES)
    file = tmp_path / "rendered.yaml"
    file.write_text(rendered)

    _validate(version, file)

    assert ("name: path.repo" in rendered) is has_components
    assert ("kind: HorizontalPodAutoscaler" in rendered) is has_components
    assert len(re.findall(r"^  replicas: ", rendered, re.MULTILINE)) == 3 - has_components
    assert "image: codecompass\n" not in rendered


def test_a_field_that_does_not_exist_is_noticed(tmp_path: Path):
    file = tmp_path / "server.yaml"
    file.write_text((KUBERNETES / "server.yaml").read_text().replace("readinessProbe:", "readynessProbe:"))
    validator = _program("kubernetes-validate", is_installed_in_ci=True)

    done = _run(validator, "--strict", "--kubernetes-version", KUBERNETES_VERSIONS[0], file)

    assert done.returncode != 0
    assert "readynessProbe" in done.stdout + done.stderr


def test_docker_accepts_the_compose_file():
    docker = _program("docker", is_installed_in_ci=False)
    if _run(docker, "compose", "version").returncode:
        pytest.skip("docker has no command compose here")

    done = _run(docker, "compose", "--file", COMPOSE, "config", "--quiet")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", [DOCKERFILE, DEPLOY / "Dockerfile.local"], ids=lambda file: file.name)
def test_hadolint_accepts_the_dockerfile(file: Path):
    done = _run(_program("hadolint", is_installed_in_ci=True), file)

    assert done.returncode == 0, done.stdout + done.stderr


def test_haproxy_accepts_the_balancers_configuration():
    done = _run(_program("haproxy", is_installed_in_ci=True), "-c", "-f", DEPLOY / "haproxy.cfg")

    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower()
