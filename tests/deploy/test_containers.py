"""Every container is bounded, unprivileged and monitored, and every reference has its target."""

import fnmatch
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from codecompass.settings import WEBHOOK_SECRET_VARIABLE
from codecompass.units import GIB
from tests.deploy.deployment import (
    COMPOSE,
    DEPLOY,
    DOCKERFILE,
    KUBERNETES,
    KUSTOMIZATIONS,
    OURS,
    PATCHES,
    ROOT,
    SECRETS,
    VERSION,
    Container,
    _bytes,
    cluster_variables,
    components,
    containers,
    documents,
    manifests,
    of_kind,
    services,
    workloads,
)

ALL = containers()
LASTING = [each for each in ALL if each.name != "compose: volumes-owner"]
"""Containers that keep running; the other one gives volumes to the users that write them, as root, and exits."""

WRITABLE = ("compose: opensearch-*", "kubernetes: opensearch")
"""At its first start OpenSearch creates a key store beside its settings."""

WITHOUT_LIVENESS = ("kubernetes: worker",)
"""A worker has no port to probe. If it exits it is restarted, and if it hangs it loses its lease."""

HOST_TOKENS = "CODECOMPASS_CLUSTER_HOST_TOKENS"

by_name = pytest.mark.parametrize("container", ALL, ids=lambda each: each.name)
lasting = pytest.mark.parametrize("container", LASTING, ids=lambda each: each.name)


def test_both_ways_run_the_engine_workers_and_servers():
    names = {each.name for each in ALL}

    assert {f"compose: opensearch-{number}" for number in range(3)} | {"compose: worker", "compose: server"} <= names
    assert {"kubernetes: opensearch", "kubernetes: worker", "kubernetes: server"} == {
        name for name in names if name.startswith("kubernetes")
    }
    assert of_kind("StatefulSet")["opensearch"]["spec"]["replicas"] == 3
    assert [services()[name]["deploy"]["replicas"] for name in ("worker", "server")] == [2, 2]


@by_name
def test_a_container_has_requests_and_limits(container: Container):
    assert container.cpu_request is not None
    assert container.cpu_limit is not None
    assert container.cpu_request <= container.cpu_limit
    assert container.memory_request is not None
    assert container.memory_limit is not None
    assert container.memory_request <= container.memory_limit


@by_name
def test_a_container_can_gain_no_privileges(container: Container):
    assert container.dropped == ("ALL",)
    assert not container.may_gain_privileges


@lasting
def test_a_container_does_not_run_as_root(container: Container):
    assert container.user is not None
    assert container.user > 0


@by_name
def test_a_container_writes_to_its_volumes_alone(container: Container):
    assert container.is_read_only is not any(fnmatch.fnmatch(container.name, each) for each in WRITABLE)


@lasting
def test_a_container_is_watched(container: Container):
    if container.name.startswith("compose"):
        assert list(container.checks) == ["healthcheck"]
    else:
        of_life = set() if container.name in WITHOUT_LIVENESS else {"livenessProbe"}
        assert set(container.checks) == {"startupProbe", "readinessProbe"} | of_life


def test_services_start_again_by_themselves():
    assert {name: service["restart"] for name, service in services().items()} == {
        name: "no" if name == "volumes-owner" else "unless-stopped" for name in services()
    }


def test_the_heap_leaves_half_of_the_memory_to_files():
    heaps = {
        each.name: (int(re.search(r"-Xmx(\d+)m", each.variables["OPENSEARCH_JAVA_OPTS"])[1]) * 2**20, each.memory_limit)
        for each in ALL
        if "OPENSEARCH_JAVA_OPTS" in each.variables
    }

    assert len(heaps) == 4
    assert {heap for heap, _ in heaps.values()} == {512 * 2**20}, "as docs/organisation.md says"
    assert [name for name, (heap, memory) in heaps.items() if heap * 2 > memory] == []


def test_images_are_of_one_version_and_of_no_registry_of_ours():
    images = {each.image for each in ALL if not each.is_ours}
    images |= set(re.findall(r"^FROM (\S+)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE))
    kustomized = documents(KUSTOMIZATIONS[0])[0]["images"]

    assert {each.image for each in ALL if each.is_ours} == {f"{OURS}:{VERSION}", OURS}
    assert kustomized == [{"name": OURS, "newName": OURS, "newTag": VERSION}]
    assert len({each.partition(":")[0] for each in images}) == len(images)
    for image in images:
        assert re.fullmatch(r"[a-z]+(/[a-z]+)?:\d[\w.-]+", image), image


def test_workers_and_servers_know_every_node_of_the_engine():
    nodes = [name for name in services() if re.fullmatch(r"opensearch-\d", name)]
    stateful = of_kind("StatefulSet")["opensearch"]
    of_compose = services()["server"]["environment"]["CODECOMPASS_CLUSTER_URL"].split(",")
    of_pods = cluster_variables()["CODECOMPASS_CLUSTER_URL"].split(",")
    settings = documents(KUBERNETES / "opensearch.yml")[0]

    assert of_compose == [f"http://{node}:9200" for node in nodes]
    assert of_pods == [f"http://{node}.{stateful['spec']['serviceName']}:9200" for node in nodes]
    assert settings["cluster.initial_cluster_manager_nodes"] == nodes
    assert len(nodes) == stateful["spec"]["replicas"]


def test_manifests_refer_to_what_is_there():
    generated = {each["name"] for each in documents(KUSTOMIZATIONS[0])[0]["configMapGenerator"]}
    secrets = {each["metadata"]["name"] for each in documents(SECRETS)}
    labels = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in workloads().items()}

    for name, workload in workloads().items():
        pod = workload["spec"]["template"]["spec"]
        assert workload["spec"]["selector"]["matchLabels"] == labels[name]
        assert pod["automountServiceAccountToken"] is False
        # A Service called codecompass would set CODECOMPASS_PORT, which the program reads.
        assert pod["enableServiceLinks"] is False
        volumes = {each["name"]: each for each in pod.get("volumes", ())}
        claims = {each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", ())}
        for container in pod["containers"]:
            ports = {each["name"] for each in container.get("ports", ())}
            mounted = {each["name"] for each in container["volumeMounts"]}
            assert mounted == set(volumes) | claims
            assert {each["configMapRef"]["name"] for each in container.get("envFrom", ()) if "configMapRef" in each} <= generated
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                asked = container.get(probe, {})
                assert {each["port"] for each in (asked.get("httpGet"), asked.get("tcpSocket")) if each} <= ports
        assert {each["configMap"]["name"] for each in volumes.values() if "configMap" in each} <= generated
        assert {each["secret"]["secretName"] for each in volumes.values() if "secret" in each} <= secrets

    for kind in ("Service", "PodDisruptionBudget"):
        for each in of_kind(kind).values():
            selector = each["spec"]["selector"]
            assert selector.get("matchLabels", selector) in labels.values()
    assert set(of_kind("PodDisruptionBudget")) == set(workloads())


def test_services_refer_to_what_is_there():
    [composition] = documents(COMPOSE)

    for service in services().values():
        assert set(service.get("networks", ())) <= set(composition["networks"])
        assert set(service.get("depends_on", ())) <= set(services())
        for volume in service.get("volumes", ()):
            source = volume.get("source") if isinstance(volume, dict) else volume.partition(":")[0]
            if source is not None:
                assert (DEPLOY / source).exists() if source.startswith(".") else source in composition["volumes"]
    for network in composition["networks"]:
        assert any(network in service.get("networks", ()) for service in services().values())


def test_every_manifest_is_applied_or_says_why_not():
    named = {*KUSTOMIZATIONS, SECRETS, *PATCHES}
    for kustomization in KUSTOMIZATIONS:
        content = documents(kustomization)[0]
        named |= {kustomization.parent / name for name in content.get("resources", ())}

    assert set(KUBERNETES.rglob("*.yaml")) == named


def test_workers_write_finished_indexes_where_servers_read_them():
    at = "/srv/codecompass-segments"
    [composition] = documents(COMPOSE)
    claims = of_kind("PersistentVolumeClaim")

    assert cluster_variables()["CODECOMPASS_CLUSTER_SEGMENTS"] == at
    assert claims["segments"]["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claims["segments"]["spec"]["resources"]["requests"] == {"storage": "100Gi"}, "as docs/organisation.md says"
    assert "segments" in composition["volumes"]
    for name, is_reader in (("worker", False), ("server", True)):
        assert services()[name]["environment"]["CODECOMPASS_CLUSTER_SEGMENTS"] == at
        assert (f"segments:{at}:ro" if is_reader else f"segments:{at}") in services()[name]["volumes"]
        pod = of_kind("Deployment")[name]["spec"]["template"]["spec"]
        [volume] = [each for each in pod["volumes"] if each["name"] == "segments"]
        [mount] = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "segments"]
        claimed = volume["persistentVolumeClaim"]
        assert claimed["claimName"] in claims
        assert (mount["mountPath"], mount.get("readOnly", False), claimed.get("readOnly", False)) == (at, is_reader, is_reader)
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsUser"]


def test_the_volumes_belong_to_who_writes_them_before_anybody_starts():
    owner = services()["volumes-owner"]
    mounted = dict(each.split(":")[::-1] for each in owner["volumes"])
    given = {mounted[path]: int(user) for user, path in re.findall(r"chown (\d+):\d+ (\S+)", owner["command"][0])}
    users = {name: int(service["user"].partition(":")[0]) for name, service in services().items()}

    assert given == {"snapshots": users["opensearch-0"], "segments": users["worker"]}
    assert users["server"] == users["worker"]
    for name in ("opensearch-0", "opensearch-1", "opensearch-2", "worker", "server"):
        assert services()[name]["depends_on"]["volumes-owner"] == {"condition": "service_completed_successfully"}


def test_the_cache_of_a_server_fits_its_volume_and_the_volume_what_its_pod_may_use():
    pod = of_kind("Deployment")["server"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    sizes = {each["name"]: _bytes(each["emptyDir"]["sizeLimit"]) for each in pod["volumes"] if "emptyDir" in each}
    [cache] = [int(each["value"]) for each in container["env"] if each["name"] == "CODECOMPASS_SERVER_CACHE_BYTES"]

    assert cache * 1.2 <= sizes["home"]
    assert (cache, sizes["home"]) == (8 * GIB, 10 * GIB), "as docs/organisation.md says"
    assert sum(sizes.values()) <= _bytes(container["resources"]["limits"]["ephemeral-storage"])


def test_an_address_has_several_servers_which_are_replaced_one_at_a_time():
    server = of_kind("Deployment")["server"]["spec"]
    [scaling] = [each for each in components() if each["kind"] == "HorizontalPodAutoscaler"]

    assert server["replicas"] >= 2
    assert services()["server"]["deploy"]["replicas"] >= 2
    assert server["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert {name: each["spec"]["maxUnavailable"] for name, each in of_kind("PodDisruptionBudget").items()} == {
        "opensearch": 1,
        "server": 1,
        "worker": 1,
    }
    assert scaling["spec"]["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "server"}
    assert scaling["spec"]["minReplicas"] == server["replicas"]
    # As many as the balancer of Compose has slots for.
    [slots] = re.findall(r"server-template server- (\d+) ", (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8"))
    assert scaling["spec"]["maxReplicas"] == int(slots)


def test_a_collector_of_traces_in_the_namespace_of_monitoring_is_reached():
    traces = of_kind("NetworkPolicy")["traces"]["spec"]
    [expression] = traces["podSelector"]["matchExpressions"]
    [rule] = traces["egress"]

    assert sorted(expression["values"]) == ["server", "worker"]
    assert rule["to"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    assert rule["ports"] == [{"port": 4318, "protocol": "TCP"}]
    assert "'.[cluster,traces]'" in DOCKERFILE.read_text(encoding="utf-8")


def test_nodes_of_the_engine_are_on_different_machines():
    affinity = of_kind("StatefulSet")["opensearch"]["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]

    [rule] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"] == {"app.kubernetes.io/name": "opensearch"}
    assert of_kind("PodDisruptionBudget")["opensearch"]["spec"]["maxUnavailable"] == 1


def test_only_workers_and_servers_reach_the_engine():
    """The search engine requires no password."""
    policies = of_kind("NetworkPolicy")
    opened = [
        (policy["metadata"]["name"], rule)
        for policy in policies.values()
        for rule in policy["spec"].get("ingress", ())
        if any(port["port"] == 9200 for port in rule["ports"])
    ]
    networks = documents(COMPOSE)[0]["networks"]
    on_its_network = {name for name, service in services().items() if "engine" in service.get("networks", ())}

    assert policies["nothing"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    [(name, rule)] = opened
    assert name == "opensearch"
    [source] = rule["from"]
    [expression] = source["podSelector"]["matchExpressions"]
    assert (expression["operator"], sorted(expression["values"])) == ("In", ["server", "worker"])
    assert networks["engine"] == {"internal": True}
    assert on_its_network == {"opensearch-0", "opensearch-1", "opensearch-2", "server", "worker"}
    assert [name for name, service in services().items() if "ports" in service] == ["balancer"]


def test_metrics_of_one_server_are_not_shown_behind_one_address():
    paths = of_kind("Ingress")["codecompass"]["spec"]["rules"][0]["http"]["paths"]

    assert ("/", "Exact") in [(each["path"], each["pathType"]) for each in paths]
    assert [each["path"] for each in paths if each["pathType"] == "Prefix"] == ["/mcp", "/ui"]
    assert "deny deny_status 404 if { path -m beg /metrics }" in (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")


def test_a_server_that_no_engine_answers_gets_no_requests():
    [server] = of_kind("Deployment")["server"]["spec"]["template"]["spec"]["containers"]

    assert re.findall(r"http-check send meth GET uri (\S+)", (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")) == ["/ready"]
    assert server["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert server["livenessProbe"]["httpGet"]["path"] == "/health", "restarting a server does not mend the engine"
    assert "/ready" in services()["server"]["healthcheck"]["test"][-1]


def test_messages_of_git_servers_reach_a_server_that_has_their_secret():
    paths = of_kind("Ingress")["codecompass"]["spec"]["rules"][0]["http"]["paths"]
    [server] = of_kind("Deployment")["server"]["spec"]["template"]["spec"]["containers"]
    secrets = {each["metadata"]["name"]: each for each in documents(SECRETS)}

    assert "/webhook" in [each["path"] for each in paths]
    [name] = [each["secretRef"]["name"] for each in server["envFrom"] if "secretRef" in each]
    assert list(secrets[name]["stringData"]) == [WEBHOOK_SECRET_VARIABLE]
    assert services()["server"]["environment"][WEBHOOK_SECRET_VARIABLE] == f"${{{WEBHOOK_SECRET_VARIABLE}:-}}"


def test_people_who_sign_in_reach_a_server():
    paths = of_kind("Ingress")["codecompass"]["spec"]["rules"][0]["http"]["paths"]

    assert {"/login", "/login/token", "/ui"} <= {each["path"] for each in paths}


def test_workers_on_kubernetes_have_the_tokens_of_code_hosts_as_files():
    pod = of_kind("Deployment")["worker"]["spec"]["template"]["spec"]
    [worker] = pod["containers"]
    [volume] = [each for each in pod["volumes"] if each["name"] == "host-tokens"]
    [mount] = [each for each in worker["volumeMounts"] if each["name"] == "host-tokens"]

    assert volume["secret"]["secretName"] in {each["metadata"]["name"] for each in documents(SECRETS)}
    assert volume["secret"]["optional"]
    assert mount["readOnly"]
    assert {"name": HOST_TOKENS, "value": mount["mountPath"]} in worker["env"]


def test_workers_of_compose_have_the_tokens_of_code_hosts_as_files_that_git_ignores():
    worker = services()["worker"]
    directory = DEPLOY / "host-tokens"
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", directory / "git.example.com", directory / "README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    ).stdout.split()

    assert f"./host-tokens:{worker['environment'][HOST_TOKENS]}:ro" in worker["volumes"]
    assert HOST_TOKENS not in services()["server"]["environment"]
    assert ignored == [str(directory / "git.example.com")]


def test_the_image_has_what_it_copies_and_runs_as_the_user_of_the_manifests():
    text = DOCKERFILE.read_text(encoding="utf-8")
    taken = {
        line.removeprefix("!") for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")
    }
    copied = {name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for name in line.split()}
    [user] = re.findall(r"^USER (\d+):\d+$", text, re.MULTILINE)

    assert copied == taken
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert f"useradd --uid {user} " in text
    assert {each.user for each in ALL if each.is_ours} == {int(user)}


@pytest.mark.parametrize("host", ["git.example.com", "other.example.com"])
@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_git_gives_the_password_to_its_host_alone(host: str, where: str, tmp_path: Path):
    mounted = "/etc/codecompass/git"
    secret = next(each for each in documents(SECRETS) if each["metadata"]["name"] == "git")["stringData"]
    configuration = (DEPLOY / "git" / "gitconfig").read_text() if where == "compose" else secret["gitconfig"]
    (tmp_path / "gitconfig").write_text(configuration.replace(mounted, str(tmp_path)))
    (tmp_path / "credentials").write_text(secret["credentials"])
    (tmp_path / ".gitconfig").write_text((DEPLOY / "git" / "include").read_text().replace(mounted, str(tmp_path)))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}

    done = subprocess.run(
        ["git", "credential", "fill"],
        input=f"protocol=https\nhost={host}\n\n",
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert mounted in configuration
    assert ("password=AN-ACCESS-TOKEN-THAT-MAY-ONLY-READ" in done.stdout) is (host == "git.example.com")
    assert (done.returncode == 0) is (host == "git.example.com")


def test_secrets_are_examples_and_not_applied():
    resources = documents(KUSTOMIZATIONS[0])[0]["resources"]

    assert SECRETS.name not in resources
    assert "Secret" not in {each["kind"] for each in manifests()}
    assert "/deploy/git/credentials" in (ROOT / ".gitignore").read_text().splitlines()


def test_all_yaml_can_be_read():
    files = [*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.yml")]

    assert len(files) > 10
    for file in files:
        assert list(yaml.safe_load_all(file.read_text(encoding="utf-8"))), file
