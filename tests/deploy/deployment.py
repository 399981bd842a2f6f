"""Parses `deploy/`: its files, and the containers of the compose file and the manifests in one form."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
DOCKERFILE = DEPLOY / "Dockerfile"
KUBERNETES = DEPLOY / "kubernetes"
SECRETS = KUBERNETES / "secrets.example.yaml"
KUSTOMIZATIONS = (
    KUBERNETES / "kustomization.yaml",
    KUBERNETES / "snapshots" / "kustomization.yaml",
    KUBERNETES / "autoscaling" / "kustomization.yaml",
)
"""That which is applied, and its components, which are commented out."""

PATCHES = (KUBERNETES / "snapshots" / "mount.yaml",)

VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
OURS = "codecompass"
"""The image of our own containers, without its tag."""

_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


@dataclass(frozen=True)
class Container:
    """One container. Sizes are in bytes, CPU values in processors; None if not set."""

    name: str
    image: str
    arguments: tuple[str, ...]
    checks: dict[str, tuple[str, ...]]
    """The command of each probe by name; empty for a probe over the network."""
    variables: dict[str, str]
    cpu_limit: float | None
    cpu_request: float | None
    memory_limit: float | None
    memory_request: float | None
    user: int | None
    is_read_only: bool
    dropped: tuple[str, ...]
    may_gain_privileges: bool

    @property
    def is_ours(self) -> bool:
        return self.image.partition(":")[0] == OURS


def documents(path: Path) -> list[Any]:
    """Returns the documents of a YAML file."""
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each is not None]


def manifests() -> list[Any]:
    """Returns all objects that the kustomization lists, as written."""
    return [each for name in documents(KUSTOMIZATIONS[0])[0]["resources"] for each in documents(KUBERNETES / name)]


def components() -> list[Any]:
    """Returns the objects that the components add."""
    return [
        each
        for kustomization in KUSTOMIZATIONS[1:]
        for name in documents(kustomization)[0]["resources"]
        for each in documents(kustomization.parent / name)
    ]


def of_kind(kind: str) -> dict[str, Any]:
    """Returns the objects of one kind by name."""
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


def workloads() -> dict[str, Any]:
    """Returns the objects that create pods, by name."""
    return {**of_kind("Deployment"), **of_kind("StatefulSet")}


def cluster_variables() -> dict[str, str]:
    """Returns the variables that the kustomization sets for workers and servers."""
    generators = {each["name"]: each for each in documents(KUSTOMIZATIONS[0])[0]["configMapGenerator"]}
    return dict(each.split("=", 1) for each in generators["cluster"]["literals"])


def services() -> dict[str, Any]:
    """Returns the services of the compose file."""
    return documents(COMPOSE)[0]["services"]


def compose_containers() -> Iterator[Container]:
    """Yields each service of the compose file."""
    for name, service in services().items():
        limits = service.get("deploy", {}).get("resources", {})
        most, least = limits.get("limits", {}), limits.get("reservations", {})
        test = service.get("healthcheck", {}).get("test")
        yield Container(
            name=f"compose: {name}",
            image=service["image"],
            arguments=tuple(service.get("command", ())),
            checks={} if test is None else {"healthcheck": tuple(test[1:])},
            variables=dict(service.get("environment", {})),
            cpu_limit=_processors(most.get("cpus")),
            cpu_request=_processors(least.get("cpus")),
            memory_limit=_bytes(most.get("memory")),
            memory_request=_bytes(least.get("memory")),
            user=int(service["user"].partition(":")[0]) if "user" in service else None,
            is_read_only=service.get("read_only", False),
            dropped=tuple(service.get("cap_drop", ())),
            may_gain_privileges="no-new-privileges:true" not in service.get("security_opt", ()),
        )


def pod_containers() -> Iterator[Container]:
    """Yields each container of the manifests."""
    for name, workload in workloads().items():
        pod = workload["spec"]["template"]["spec"]
        of_pod = pod.get("securityContext", {})
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            own = container.get("securityContext", {})
            resources = container.get("resources", {})
            most, least = resources.get("limits", {}), resources.get("requests", {})
            from_map = cluster_variables() if "envFrom" in container else {}
            is_safe = of_pod.get("runAsNonRoot", False) and own.get("runAsNonRoot", True)
            yield Container(
                name=f"kubernetes: {name}",
                image=container["image"],
                arguments=tuple(container.get("args", ())),
                checks={
                    probe: tuple(container[probe].get("exec", {}).get("command", ()))
                    for probe in ("startupProbe", "readinessProbe", "livenessProbe")
                    if probe in container
                },
                variables={**from_map, **{each["name"]: each["value"] for each in container.get("env", ())}},
                cpu_limit=_processors(most.get("cpu")),
                cpu_request=_processors(least.get("cpu")),
                memory_limit=_bytes(most.get("memory")),
                memory_request=_bytes(least.get("memory")),
                user=own.get("runAsUser", of_pod.get("runAsUser")) if is_safe else None,
                is_read_only=own.get("readOnlyRootFilesystem", False),
                dropped=tuple(own.get("capabilities", {}).get("drop", ())),
                may_gain_privileges=own.get("allowPrivilegeEscalation", True),
            )


def containers() -> list[Container]:
    """Returns the containers of the compose file and of the manifests."""
    return [*compose_containers(), *pod_containers()]


def _processors(text: str | None) -> float | None:
    if text is None:
        return None
    return float(text.removesuffix("m")) / 1000 if text.endswith("m") else float(text)


def _bytes(text: str | None) -> float | None:
    if text is None:
        return None
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return float(number) * _SIZES[unit]
