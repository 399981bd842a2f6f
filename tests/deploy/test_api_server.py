"""A real API server accepts everything in `deploy/kubernetes`, with strict validation and the namespace's own rules for pods."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.api_server import ApiServer, api_server, programs, without_warnings
from tests.deploy.deployment import KUBERNETES, SECRETS
from tests.deploy.test_validators import _with_components

NAMESPACE = "codecompass"
STRICT = ("--server-side", "--validate=strict")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[ApiServer]:
    programs()
    with api_server(tmp_path_factory.mktemp("kubernetes")) as running:
        yield running


@pytest.fixture(scope="module")
def applied(server: ApiServer) -> ApiServer:
    without_warnings(server.kubectl("apply", *STRICT, "-k", KUBERNETES))
    return server


def test_every_object_is_accepted_and_applying_it_again_changes_nothing(applied: ApiServer):
    found = {f"{each['kind']}/{each['metadata']['name']}" for each in applied.objects(ALL_KINDS, "-n", NAMESPACE)}
    before = specifications(applied)

    again = without_warnings(applied.kubectl("apply", *STRICT, "-k", KUBERNETES))

    assert {
        "StatefulSet/opensearch",
        "Deployment/worker",
        "Deployment/server",
        "Service/opensearch",
        "Service/server",
        "PersistentVolumeClaim/segments",
        "PodDisruptionBudget/server",
        "NetworkPolicy/nothing",
        "Ingress/codecompass",
    } <= found
    assert len(again) > len(found)
    assert specifications(applied) == before


ALL_KINDS = (
    "deployments,statefulsets,services,persistentvolumeclaims,poddisruptionbudgets,networkpolicies,ingresses,configmaps,"
    "horizontalpodautoscalers"
)


def specifications(server: ApiServer) -> dict[str, tuple]:
    """Returns what each object says, and the number of its changes."""
    return {
        f"{each['kind']}/{each['metadata']['name']}": (
            each["metadata"]["uid"],
            each["metadata"].get("generation"),
            each.get("spec"),
            each.get("data"),
        )
        for each in server.objects(ALL_KINDS, "-n", NAMESPACE)
    }


@pytest.mark.parametrize("name", ["deployment/server", "deployment/worker", "statefulset/opensearch"])
def test_its_pods_are_admitted_by_the_rules_of_the_namespace(applied: ApiServer, name: str):
    [workload] = [
        each
        for each in applied.objects("deployments,statefulsets", "-n", NAMESPACE)
        if f"{each['kind']}/{each['metadata']['name']}".lower() == name
    ]

    def admitted(pod: dict):
        named = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a-pod", "namespace": NAMESPACE}, "spec": pod}
        return applied.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=named)

    if applied.kubectl("get", "serviceaccount", "default", "-n", NAMESPACE).returncode:
        # A controller makes it elsewhere.
        without_warnings(applied.kubectl("create", "serviceaccount", "default", "-n", NAMESPACE))
    pod = _with_claims(workload)
    without_warnings(admitted(pod))
    pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    refused = admitted(pod)

    assert refused.returncode != 0
    assert 'violates PodSecurity "restricted' in refused.stderr


def _with_claims(workload: dict) -> dict:
    """Returns the pod of a workload with the volumes that its controller would add."""
    pod = dict(workload["spec"]["template"]["spec"])
    claims = [each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", ())]
    added = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-x-0"}} for name in claims]
    return {**pod, "volumes": [*pod.get("volumes", ()), *added]}


def test_the_components_and_the_secrets_are_accepted_too(applied: ApiServer, tmp_path: Path):
    directory = _with_components(tmp_path)

    without_warnings(applied.kubectl("apply", *STRICT, "-n", NAMESPACE, "-f", SECRETS))
    without_warnings(applied.kubectl("apply", *STRICT, "-k", directory))

    [scaling] = applied.objects("horizontalpodautoscalers", "-n", NAMESPACE)
    [served] = [each for each in applied.objects("deployments", "-n", NAMESPACE) if each["metadata"]["name"] == "server"]
    assert scaling["spec"]["scaleTargetRef"]["name"] == "server"
    assert served["spec"]["replicas"] == 1, "until the autoscaler, which is not here, sets its least number"
    claims = {each["metadata"]["name"] for each in applied.objects("persistentvolumeclaims", "-n", NAMESPACE)}
    assert claims == {"segments", "snapshots"}


def test_a_field_that_does_not_exist_is_refused(server: ApiServer, tmp_path: Path):
    file = tmp_path / "claim.yaml"
    file.write_text((KUBERNETES / "segments.yaml").read_text().replace("accessModes:", "accesModes:"))

    done = server.kubectl("apply", *STRICT, "--dry-run=server", "-n", "default", "-f", file)

    assert done.returncode != 0
    assert "accesModes" in done.stderr
