import pytest

from codecompass.scan.builtin import content_rule, directory_rule, is_hidden, is_secret

SECRETS = """
.env .env.local .env.production .Env server.pem tls.key id_rsa id_ed25519 ID_RSA a.p12 a.PFX x.jks release.keystore
.netrc .npmrc .pypirc .git-credentials credentials db.kdbx
"""

HARMLESS = """
.env.example .env.sample .env.template .envrc .environment env env.py id_rsa.pub id_rsa.md credentials.py key.go pem
keystore.java secrets.yaml monkey
"""


@pytest.mark.parametrize("name", SECRETS.split())
def test_names_of_usual_secrets_are_secrets(name: str):
    assert is_secret(name)


@pytest.mark.parametrize("name", HARMLESS.split())
def test_a_harmless_name_is_not_a_secret(name: str):
    assert not is_secret(name)


def test_hidden_means_a_leading_dot_but_for_what_belongs_to_projects():
    assert is_hidden(".cache")
    assert is_hidden(".DS_Store")
    assert not is_hidden("cache")
    assert not is_hidden(".github")
    assert not is_hidden(".gitlab-ci.yml")


def test_output_directories_depend_on_git_and_caches_do_not():
    assert directory_rule("node_modules", is_tracked=True) is not None
    assert directory_rule("vendor", is_tracked=False) is not None
    assert directory_rule("vendor", is_tracked=True) is None
    assert directory_rule("src", is_tracked=False) is None


def test_a_directory_is_excluded_because_of_its_content():
    assert content_rule({"pyvenv.cfg", "bin"}) is not None
    assert content_rule({"CACHEDIR.TAG"}) is not None
    assert content_rule({"HEAD", "objects", "refs", "config"}) is not None
    assert content_rule({"HEAD", "src"}) is None
