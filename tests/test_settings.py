"""Precedence of the sources of settings, and the messages for mistakes in the configuration."""

import os
from pathlib import Path

import msgspec
import pytest

from codecompass.actors.index_limits import index_limits
from codecompass.errors import InvalidInput
from codecompass.scan.walk import scan
from codecompass.settings import (
    EXCLUDE,
    INCLUDE,
    LOWERED_KEYS,
    MAX_ITEMS,
    PROJECT_SECTIONS,
    USER_KEYS,
    Settings,
    known_settings,
    project_file,
    user_directory,
    wants_color,
)
from codecompass.settings_sources import EffectiveValue, Loaded, Sources, load_settings


def load(
    tmp_path: Path,
    *,
    flags: dict[str, object] | None = None,
    environment: dict[str, str] | None = None,
    config: str | None = None,
    project: str | None = None,
    user: str | None = None,
) -> Loaded:
    root = tmp_path / "project"
    for path, content in (
        (tmp_path / "given.toml", config),
        (project_file(root), project),
        (tmp_path / "user.toml", user),
    ):
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    return load_settings(
        Sources(
            flags=flags or {},
            environment=environment or {},
            config_file=None if config is None else tmp_path / "given.toml",
            project_root=root,
            user_file=tmp_path / "user.toml",
        )
    )


def value_of(loaded: Loaded, key: str) -> EffectiveValue:
    return next(item for item in loaded.values if item.key == key)


def refusal(tmp_path: Path, **layers: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        load(tmp_path, **layers)  # type: ignore[arg-type]
    return caught.value.message


def test_without_any_source_the_defaults_hold(tmp_path):
    loaded = load(tmp_path)

    assert loaded.settings == Settings()
    assert {item.layer for item in loaded.values} == {"default"}


def test_each_layer_wins_over_the_ones_below_it(tmp_path):
    """Flag, variable, --config, project file, user file, default: removed one by one from the top."""
    layers: dict[str, object] = {
        "flags": {"query.default_limit": 1},
        "environment": {"CODECOMPASS_QUERY_DEFAULT_LIMIT": "2"},
        "config": "query.default_limit = 3",
        "project": "[query]\ndefault_limit = 4",
        "user": "[query]\ndefault_limit = 5",
    }
    seen = []

    for n_removed in range(len(layers) + 1):
        directory = tmp_path / str(n_removed)
        kept = dict(list(layers.items())[n_removed:])
        item = value_of(load(directory, **kept), "query.default_limit")  # type: ignore[arg-type]
        seen.append((item.value, item.layer, os.path.basename(item.where)))

    assert seen == [
        (1, "flag", ""),
        (2, "environment", "CODECOMPASS_QUERY_DEFAULT_LIMIT"),
        (3, "config file", "given.toml"),
        (4, "project file", "config.toml"),
        (5, "user file", "user.toml"),
        (10, "default", ""),
    ]


def test_layers_are_merged_key_by_key(tmp_path):
    loaded = load(tmp_path, user="[query]\ntimeout_ms = 9\ndefault_limit = 3", project="query.default_limit = 4")

    assert loaded.settings.query.default_limit == 4
    assert loaded.settings.query.timeout_ms == 9


def test_an_unknown_key_names_the_file_and_the_nearest_key(tmp_path):
    message = refusal(tmp_path, user='[query]\nfreshnes_polcy = "strict"')

    assert str(tmp_path / "user.toml") in message
    assert "query.freshnes_polcy" in message
    assert "did you mean query.freshness_policy?" in message


@pytest.mark.parametrize(
    ("content", "nearest"),
    [
        ("port = 1", "server.port"),
        ("[servr]\nport = 1", "server.port"),
        ("[qurey]", "query."),
        ("[index.max_file_size]\nbytes = 3", "index.max_file_size"),
    ],
)
def test_a_key_in_the_wrong_place_is_told_where_it_belongs(tmp_path, content, nearest):
    assert f"did you mean {nearest}" in refusal(tmp_path, user=content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("index.max_file_size = '1'", "index.max_file_size must be a whole number, not '1'"),
        ("index.max_file_size = true", "index.max_file_size must be a whole number, not True"),
        ("index.max_file_size = 0", "index.max_file_size must be a whole number >= 1, not 0"),
        ("server.port = 65536", "server.port must be a whole number <= 65535, not 65536"),
        ("server.prewarm = 1", "server.prewarm must be true or false, not 1"),
        ("index.exclude = 'a'", "index.exclude must be a list of strings, not 'a'"),
        ("index.exclude = ['a', 1]", "index.exclude must be a list of strings, not ['a', 1]"),
        ("query.freshness_policy = 'lax'", "must be one of strict, balanced, best_effort, not 'lax'"),
        ("query.freshness_policy = 3", "must be one of strict, balanced, best_effort, not 3"),
        ("storage.data_dir = 3", "storage.data_dir must be a string, not 3"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_is_expected(tmp_path, content, expected):
    message = refusal(tmp_path, user=content)

    assert message.startswith(str(tmp_path / "user.toml"))
    assert expected in message


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("CODECOMPASS_SERVER_PREWARM", "yes", "must be true or false, not 'yes'"),
        ("CODECOMPASS_SERVER_PORT", "abc", "must be a whole number, not 'abc'"),
        ("CODECOMPASS_SERVER_PROT", "1", "did you mean CODECOMPASS_SERVER_PORT?"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path, variable, text, expected):
    message = refusal(tmp_path, environment={variable: text})

    assert variable in message
    assert expected in message


def test_variables_carry_every_type(tmp_path):
    settings = load(
        tmp_path,
        environment={
            "CODECOMPASS_SERVER_PREWARM": "false",
            "CODECOMPASS_SERVER_PORT": "0",
            "CODECOMPASS_INDEX_EXCLUDE": "*.gen.go, third_party/",
            "CODECOMPASS_SERVER_ALLOWED_ROOTS": f"/srv/a{os.pathsep}/srv/b",
            "CODECOMPASS_QUERY_FRESHNESS_POLICY": "strict",
        },
    ).settings

    assert settings.server.prewarm is False
    assert settings.server.port == 0
    assert settings.index.exclude == ("*.gen.go", "third_party/")
    assert settings.server.allowed_roots == ("/srv/a", "/srv/b")
    assert settings.query.freshness_policy == "strict"


def test_an_empty_variable_sets_nothing(tmp_path):
    assert load(tmp_path, environment={"CODECOMPASS_SERVER_PORT": ""}).settings == Settings()


def test_a_variable_of_no_section_is_only_warned_about(tmp_path):
    """An unrelated CODECOMPASS_BUILD_ID must not keep the server from starting."""
    loaded = load(tmp_path, environment={"CODECOMPASS_QEURY_TIMEOUT_MS": "3", "CODECOMPASS_PROJECT": "/x"})

    assert loaded.settings == Settings()
    assert len(loaded.warnings) == 1
    assert "CODECOMPASS_QUERY_TIMEOUT_MS" in loaded.warnings[0]


def test_codecompass_home_moves_the_store(tmp_path):
    item = value_of(load(tmp_path, environment={"CODECOMPASS_HOME": "/elsewhere"}), "storage.data_dir")

    assert (item.value, item.layer, item.where) == ("/elsewhere", "environment", "CODECOMPASS_HOME")


def test_the_url_of_seed_003_names_the_server_of_the_active_project_unless_our_own_variable_does(tmp_path):
    theirs = {"WORKFLOW_MCP_URL": "http://127.0.0.1:8000"}
    ours = {"CODECOMPASS_SERVER_ACTIVE_PROJECT_URL": "http://127.0.0.1:8001"}

    item = value_of(load(tmp_path, environment=theirs), "server.active_project_url")

    assert (item.value, item.layer, item.where) == ("http://127.0.0.1:8000", "environment", "WORKFLOW_MCP_URL")
    for both in ({**theirs, **ours}, {**ours, **theirs}):
        assert load(tmp_path, environment=both).settings.server.active_project_url == "http://127.0.0.1:8001"


@pytest.mark.parametrize(
    "content",
    [
        "active_project_timeout_ms = 99",
        "active_project_timeout_ms = 5001",
        "active_project_cache_seconds = 9",
        "active_project_cache_seconds = 301",
    ],
)
def test_the_lookup_of_the_active_project_has_the_bounds_of_seed_003(tmp_path, content):
    assert "must be a whole number" in refusal(tmp_path, user=f"server.{content}")


def test_relative_paths_in_a_file_are_relative_to_the_file(tmp_path):
    settings = load(tmp_path, user="storage.data_dir = 'data'\nserver.allowed_roots = ['~/src', 'b']").settings

    assert settings.storage.data_dir == str(tmp_path / "data")
    assert settings.server.allowed_roots == (str(Path.home() / "src"), str(tmp_path / "b"))


@pytest.mark.parametrize(
    "content",
    [
        "storage.data_dir = '/tmp/x'",
        "server.bind = '0.0.0.0'",
        "server.active_project_url = 'http://example.com'",
        "log.level = 'debug'",
        "index.workers = 99",
    ],
)
def test_a_projects_own_file_cannot_reach_beyond_the_project(tmp_path, content):
    """The file comes with a clone; its author must not open ports, widen roots, move the store or overload the machine."""
    assert "a project's own file cannot set" in refusal(tmp_path, project=content)


@pytest.mark.parametrize(
    ("content", "key", "value"),
    [
        ("debug.ranking_reasons = true", "query.ranking_explain_level", "full"),
        ("debug.ranking_reasons = false", "query.ranking_explain_level", "off"),
        ("debug.ranking_reasons = true\nquery.ranking_explain_level = 'basic'", "query.ranking_explain_level", "basic"),
        ("query.ranking_explain_level = 'basic'\ndebug.ranking_reasons = true", "query.ranking_explain_level", "basic"),
        ("search.max_response_bytes = 2048", "query.max_response_bytes", 2048),
        ("index.default_limit = 7", "query.default_limit", 7),
        ("logging.level = 'error'", "log.level", "error"),
    ],
)
def test_older_spellings_still_count_but_never_over_newer_ones(tmp_path, content, key, value):
    assert value_of(load(tmp_path, user=content), key).value == value


def test_an_older_variable_counts_too(tmp_path):
    loaded = load(tmp_path, environment={"CODECOMPASS_DEBUG_RANKING_REASONS": "true"})

    assert loaded.settings.query.ranking_explain_level == "full"


def test_broken_toml_names_file_and_line(tmp_path):
    message = refusal(tmp_path, user="[query]\ndefault_limit = = 3")

    assert str(tmp_path / "user.toml") in message
    assert "line 2" in message


def test_a_missing_file_is_an_error_only_where_it_was_asked_for(tmp_path):
    with pytest.raises(InvalidInput, match=r"nowhere\.toml does not exist"):
        load_settings(Sources(environment={}, config_file=tmp_path / "nowhere.toml"))

    load_settings(Sources(environment={}, user_file=tmp_path / "nowhere.toml", project_root=tmp_path))


@pytest.mark.parametrize("kind", ["directory", "pipe", "large"])
def test_what_is_no_configuration_file_is_refused_without_waiting(tmp_path, kind):
    """Otherwise a named pipe in a cloned project would block the program for ever."""
    path = project_file(tmp_path)
    path.parent.mkdir()
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.write_bytes(b"#" * (1024 * 1024 + 1))

    with pytest.raises(InvalidInput) as caught:
        load_settings(Sources(environment={}, project_root=tmp_path))

    assert str(path) in caught.value.message


def test_a_file_where_the_settings_directory_should_be_means_no_settings(tmp_path):
    project_file(tmp_path).parent.write_text("")

    assert load_settings(Sources(environment={}, project_root=tmp_path)).settings == Settings()


def test_a_relative_path_is_one_of_its_file_and_the_address_of_a_bucket_is_none(tmp_path):
    file = tmp_path / "config.toml"
    found = []
    for given in ("shared/segments", "s3://code/segments"):
        file.write_text(f'[cluster]\nsegments = "{given}"\n')
        found.append(load_settings(Sources(environment={}, config_file=file)).settings.cluster.segments)

    assert found == [str(tmp_path / "shared" / "segments"), "s3://code/segments"]


def test_every_setting_says_what_it_is_and_its_default_is_valid():
    for setting in known_settings():
        assert setting.description, setting.key
        assert msgspec.convert(setting.default, setting.type) == setting.default
        assert setting.variable == setting.variable.upper()


def test_no_two_settings_share_a_variable():
    variables = [setting.variable for setting in known_settings()]

    assert len(set(variables)) == len(variables)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "0"}, False), ({"TERM": "dumb"}, False), ({"TERM": "xterm"}, True)],
)
def test_plain_output_can_be_asked_for(environment, expected):
    assert wants_color(environment) is expected


def test_the_documentation_has_every_setting_with_its_default():
    text = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text()
    rows = {line.split("|")[1].strip(" `"): line for line in text.splitlines() if line.startswith("| `")}

    assert set(rows) == {setting.key for setting in known_settings()}
    for setting in known_settings():
        default = str(setting.default).lower() if isinstance(setting.default, bool) else setting.default
        listed = str(list(default)).replace("'", '"') if isinstance(default, tuple) else ""
        shown = '""' if default == "" else listed or str(default)
        assert shown in rows[setting.key], setting.key
        assert setting.description in rows[setting.key], setting.key


LOWERED = {
    "index.max_file_size": (1 << 30, 1 << 20, 1000),
    "index.max_line_length": (1 << 30, 20_000, 200),
    "query.files_answer_after_ms": (600_000, 2_500, 1),
    "query.first_answer_wait_ms": (600_000, 25_000, 1),
    "query.freshness_wait_ms": (60_000, 5_000, 0),
    "query.max_response_bytes": (16 << 20, 64 << 10, 2048),
    "query.timeout_ms": (60_000, 10_000, 1),
}
"""For each limit: a repository's value, the default, and the resulting value."""


@pytest.mark.invariant("A repository cannot raise a limit")
@pytest.mark.parametrize("key", sorted(LOWERED))
def test_a_projects_own_file_may_only_lower_a_limit(tmp_path, key):
    wanted, default, allowed = LOWERED[key]

    raised = load(tmp_path / "raised", project=f"{key} = {wanted}")
    lowered = load(tmp_path / "lowered", project=f"{key} = {allowed}")

    assert (value_of(raised, key).value, value_of(raised, key).layer) == (default, "default")
    assert len(raised.refused) == 1
    assert f"{key} = {wanted} is not used, {default} is" in raised.refused[0]
    assert "user file" in raised.refused[0]
    assert (value_of(lowered, key).value, lowered.refused) == (allowed, ())


@pytest.mark.parametrize("key", sorted(LOWERED))
def test_what_the_user_says_is_the_bound_of_what_a_project_says(tmp_path, key):
    wanted, _default, small = LOWERED[key]

    above_user = load(tmp_path / "1", user=f"{key} = {small}", project=f"{key} = {small + 1}")
    below_user = load(tmp_path / "2", user=f"{key} = {wanted}", project=f"{key} = {wanted - 1}")
    by_flag = load(tmp_path / "3", flags={key: wanted}, project=f"{key} = {small}")

    assert (value_of(above_user, key).value, len(above_user.refused)) == (small, 1)
    assert (value_of(below_user, key).value, below_user.refused) == (wanted - 1, ())
    assert value_of(by_flag, key).value == wanted


@pytest.mark.invariant(of="test_a_projects_own_file_may_only_lower_a_limit")
def test_every_setting_is_decided_to_be_a_projects_or_not():
    """Each new limit must be classified, so that no repository can raise one by oversight."""
    of_taste = {"query.freshness_policy", "query.ranking_explain_level", "query.default_limit", EXCLUDE, INCLUDE}
    projects = {setting.key for setting in known_settings() if setting.key.partition(".")[0] in PROJECT_SECTIONS}

    assert projects == of_taste | USER_KEYS | LOWERED_KEYS
    assert set(LOWERED) == LOWERED_KEYS


def test_the_users_patterns_come_after_a_projects_own(tmp_path):
    loaded = load(tmp_path, user="index.exclude = ['a', 'b']", project="index.exclude = ['c', '!a']\nindex.include = ['b', 'd']")
    emptied = load(tmp_path / "2", user="index.exclude = ['a']", project="index.exclude = []")
    both = load(tmp_path / "3", user="index.exclude = ['a']\nindex.include = ['u']", project="index.include = ['a']")
    alone = load(tmp_path / "4", user="", project="index.exclude = ['a']\nindex.include = ['b']")

    assert loaded.settings.index.exclude == ("c", "!a", "!b", "!d", "a", "b")
    assert loaded.settings.index.include == ()
    assert emptied.settings.index.exclude == ("a",)
    assert (both.settings.index.exclude, both.settings.index.include) == (("!a", "a"), ("u",))
    assert (alone.settings.index.exclude, alone.settings.index.include) == (("a",), ("b",))


@pytest.mark.invariant("No file of a repository can include what the user's settings exclude")
def test_what_the_user_leaves_out_no_project_takes_in(tmp_path):
    root = tmp_path / "project"
    for path in ("private/a.py", "vendor/b.py", "src/c.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x = 1\n")
    taken_in = "index.exclude = ['!private', '!private/a.py']\nindex.include = ['private/**', 'private/', 'vendor/**']"

    settings = load(tmp_path, user="index.exclude = ['private/']", project=taken_in).settings

    found = {file.path for file in scan(str(root), index_limits(settings.index).rules).files}
    assert found == {"vendor/b.py", "src/c.py"}


def test_of_a_projects_patterns_as_many_are_used_as_there_is_room_for(tmp_path):
    many = [f"p{number}" for number in range(MAX_ITEMS)]

    loaded = load(tmp_path, user="index.exclude = ['a']", project=f"index.exclude = {many}\nindex.include = {many}")

    assert loaded.settings.index.exclude == (*many[:-1], "a")
    assert any(f"only the first {MAX_ITEMS - 1} patterns" in sentence for sentence in loaded.refused)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "content",
    [
        "a." * 30_000 + "a = 1",
        "[" + "a." * 30_000 + "a]",
        ("a." * 250 + "a = 1\n") * 100,
        "a = " + "[" * 60_000,
        "a = " + "{a = " * 10_000,
        "index.exclude = " + "[" * 500 + "]" * 500,
        "a" * 60_000 + " = 1",
        "index.exclude = '" + "a" * 70_000 + "'",
        "index.max_file_size = " + "9" * 60_000,
        "index.exclude = " + "9" * 60_000,
        '"\\u001b[31m" = 1',
        "\n".join(f"a{number} = 1" for number in range(8_000)),
        "x = 2024-99-99",
        "index.exclude = ['" + "\\u0000" * 100 + "', 1]",
    ],
)
def test_a_hostile_configuration_file_is_refused_in_a_short_sentence(tmp_path, content):
    message = refusal(tmp_path, project=content)

    assert len(message) < 500 + len(str(tmp_path))
    assert message.isprintable()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"XDG_CONFIG_HOME": "/x/c", "XDG_DATA_HOME": "/x/d"},
        {"XDG_CONFIG_HOME": "relative"},
        {"XDG_DATA_HOME": ""},
        {"HOME": ""},
    ],
)
def test_the_users_directories_are_where_the_platform_has_them(monkeypatch, environment: dict[str, str]):
    import platformdirs

    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert user_directory("config") == Path(platformdirs.user_config_dir("codecompass", appauthor=False))
    assert user_directory("data") == Path(platformdirs.user_data_dir("codecompass", appauthor=False))
