"""Finished indexes in a bucket, as `deploy/` sets them up: workers and servers get the same settings, and the keys as files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from codecompass.settings_sources import Sources, load_settings
from tests.deploy.deployment import DEPLOY, KUBERNETES, SECRETS, documents

KEYS = ("CODECOMPASS_CLUSTER_S3_ACCESS_KEY_FILE", "CODECOMPASS_CLUSTER_S3_SECRET_KEY_FILE")
_DEFAULT = re.compile(r"\$\{\w+:-(.*)\}")


def require_bucket(variables: dict[str, str]) -> None:
    """Fails unless the program takes the variables as those of a bucket."""
    loaded = load_settings(Sources(environment={name: _DEFAULT.sub(r"\1", value) for name, value in variables.items()}))
    assert loaded.warnings == ()
    cluster = loaded.settings.cluster
    assert cluster.segments.startswith("s3://")
    assert cluster.s3_endpoint.startswith("https://")


def test_compose_gives_workers_and_servers_a_bucket_and_the_files_with_its_keys():
    [composition] = documents(DEPLOY / "compose.s3.yaml")

    assert set(composition["services"]) == {"worker", "server"}
    for service in composition["services"].values():
        require_bucket(service["environment"])
        assert {f"/run/secrets/{name}" for name in service["secrets"]} == {service["environment"][key] for key in KEYS}
        assert set(service["secrets"]) == set(composition["secrets"])
    assert all("file" in each for each in composition["secrets"].values())


def test_kubernetes_gives_workers_and_servers_a_bucket_and_the_files_with_its_keys(tmp_path: Path):
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl to build with")
    shutil.copytree(KUBERNETES, tmp_path / "deploy")
    top = tmp_path / "deploy" / "kustomization.yaml"
    top.write_text(top.read_text().replace("# components:", "components:").replace("#   - s3", "  - s3"))

    done = subprocess.run([kubectl, "kustomize", top.parent], capture_output=True, text=True, check=True, timeout=60)

    made = {
        (each["kind"], each["metadata"]["name"].rpartition("-")[0] or each["metadata"]["name"]): each
        for each in _all(done.stdout)
    }
    require_bucket(made["ConfigMap", "cluster"]["data"])
    secret = next(each for each in documents(SECRETS) if each["metadata"]["name"] == "s3")
    files = {made["ConfigMap", "cluster"]["data"][key] for key in KEYS}
    for name in ("worker", "server"):
        pod = made["Deployment", name]["spec"]["template"]["spec"]
        [volume] = [each for each in pod["volumes"] if each["name"] == "s3"]
        [mount] = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "s3"]
        assert volume["secret"]["secretName"] == "s3"
        assert {f"{mount['mountPath']}/{key}" for key in secret["stringData"]} == files
        ports = [port["port"] for rule in made["NetworkPolicy", name]["spec"]["egress"] for port in rule.get("ports", ())]
        assert 443 in ports


def test_the_keys_are_in_no_file_of_the_repository():
    assert "/deploy/s3/" in (DEPLOY.parent / ".gitignore").read_text().splitlines()


def _all(text: str) -> list[dict]:
    return [each for each in yaml.safe_load_all(text) if each is not None]
