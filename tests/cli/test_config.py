"""`config show`: every value with its origin."""

import tomllib

import pytest

from tests.cli.conftest import write


def setting(done, key: str) -> dict[str, object]:
    return next(item for item in done.json["settings"] if item["key"] == key)


def test_each_value_names_where_it_comes_from(cli, shop):
    write(cli.user, {"config/codecompass/config.toml": "query.timeout_ms = 5\nquery.default_limit = 5\n"})
    write(shop, {".codecompass/config.toml": "[query]\ndefault_limit = 7\n"})
    write(cli.base, {"more.toml": "[log]\nlevel = 'error'\n"})

    done = cli("config", "show", "--json", "--config", cli.base / "more.toml", CODECOMPASS_INDEX_WORKERS="3")

    found = {
        key: (setting(done, key)["value"], setting(done, key)["source"], setting(done, key)["where"])
        for key in ("query.timeout_ms", "query.default_limit", "log.level", "index.workers", "server.port")
    }
    assert found == {
        "query.timeout_ms": (5, "user file", str(cli.user / "config/codecompass/config.toml")),
        "query.default_limit": (7, "project file", str(shop / ".codecompass/config.toml")),
        "log.level": ("error", "config file", str(cli.base / "more.toml")),
        "index.workers": (3, "environment", "CODECOMPASS_INDEX_WORKERS"),
        "server.port": (9100, "default", ""),
    }
    assert [file["exists"] for file in done.json["files"]] == [True, True, True]


def test_the_readable_form_can_be_pasted_into_a_file(cli, shop):
    """Units and origins are comments."""
    done = cli("config", "show")

    assert '  freshness_policy             = "balanced"\n' in done.out
    assert f'data_dir                     = "{cli.home}"  # environment: CODECOMPASS_HOME' in done.out
    assert tomllib.loads(done.out)["query"]["freshness_policy"] == "balanced"


def test_one_setting_is_explained(cli, shop):
    done = cli("config", "show", "query.freshness_policy")

    assert "strict refuses" in done.out
    assert "max_file_size" not in done.out
    assert cli("config", "show", "query.nonsense").code == 2


def test_a_mistake_names_file_and_nearest_key(cli, shop):
    write(shop, {".codecompass/config.toml": "[query]\nlimit_default = 7\n"})

    done = cli("config", "show", "--json")

    assert done.code == 2
    assert done.json["error"]["code"] == "invalid_input"
    assert done.json["error"]["data"]["nearest"] == "query.default_limit"


def test_a_store_that_cannot_be_used_does_not_hide_the_setting_that_names_it(cli, shop):
    (cli.base / "file").write_text("")

    done = cli("config", "show", CODECOMPASS_HOME=str(cli.base / "file"))

    assert done.code == 0
    assert f'"{cli.base / "file"}"' in done.out
    assert "warning: cannot write the index store" in done.err


def test_an_unknown_variable_is_warned_about(cli, shop):
    done = cli("search", "cart", CODECOMPASS_SERCH_LIMIT="3")

    assert done.code == 0
    assert "warning: the variable CODECOMPASS_SERCH_LIMIT is not known" in done.err


@pytest.mark.parametrize(("key", "meant"), [("limit", "query.default_limit"), ("qeury", "query"), ("server.prot", "server.port")])
def test_a_setting_that_is_none_names_the_nearest(cli, shop, key, meant):
    done = cli("config", "show", key)

    assert done.code == 2
    assert f"Did you mean '{meant}'?" in done.err


def test_a_limit_that_a_project_raises_is_said_and_not_used(cli, shop):
    write(shop, {".codecompass/config.toml": "[index]\nmax_file_size = 1073741824\n", "big.txt": "word\n" * 300_000})

    index, shown = cli("index"), cli("config", "show", "index.max_file_size")
    as_json = cli("config", "show", "--json").json
    doctor = cli("doctor", "--json").json

    for said in (index.err, shown.err, *as_json["refused"]):
        assert "index.max_file_size = 1073741824 is not used, 1048576 is" in " ".join(said.split())
    assert index.err.count("is not used") == 1
    assert cli("status", "--json").json["skipped"] == {"too_large": 1}
    (check,) = (check for check in doctor["checks"] if check["name"] == "project settings")
    assert (check["status"], "is not used" in check["message"]) == ("warn", True)


def test_a_limit_that_the_user_raises_is_a_projects_to_use(cli, shop):
    write(shop, {".codecompass/config.toml": "[index]\nmax_file_size = 2000000\n", "big.txt": "word\n" * 300_000})
    write(cli.user, {"config/codecompass/config.toml": "index.max_file_size = 3000000\n"})

    done = cli("index")

    assert "is not used" not in done.err
    assert "skipped" not in cli("status", "--json").json


@pytest.mark.invariant(of="test_a_password_is_refused_and_not_repeated")
def test_a_password_in_an_address_is_not_shown(cli):
    address = "https://admin:s3cret@127.0.0.1:9,https://127.0.0.2:9"

    shown = cli("config", "show", "cluster", CODECOMPASS_CLUSTER_URL=address)
    as_json = cli("config", "show", "--json", CODECOMPASS_CLUSTER_URL=address)

    assert "s3cret" not in shown.out + shown.err + as_json.out + as_json.err
    assert setting(as_json, "cluster.url")["value"] == ["https://***@127.0.0.1:9", "https://127.0.0.2:9"]
