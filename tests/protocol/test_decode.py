"""How `decode` reads arguments as agents, scripts and people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.errors import CodeCompassError, InvalidInput, InvalidMaxTokens, InvalidStrategy
from codecompass.protocol.arguments import ARGUMENTS
from codecompass.protocol.decode import decode, well_formed
from codecompass.protocol.kinds import KINDS_ON_INPUT, kinds_meant
from codecompass.protocol.requests import GetCodeContext, LocateSymbol, SearchCode
from tests.support.tools import TOOLS, WITH_REF


def search(**arguments):
    return decode("search_code", {"query": "x", **arguments})


def refused(tool, arguments):
    with pytest.raises(InvalidInput) as caught:
        decode(tool, arguments)
    return caught.value


def test_absent_arguments_leave_the_choice_to_the_configuration():
    request = decode("search_code", {"query": "rate limiter"}).request

    assert request == SearchCode(query="rate limiter")
    assert isinstance(request, SearchCode)
    assert (request.limit, request.freshness_policy, request.ranking_explain_level) == (None, None, None)
    assert (request.mode, request.detail_level, request.compact) == ("auto", "signature", False)


@pytest.mark.parametrize(("given_limit", "used"), [(10, 10), ("5", 5), (" +07 ", 7), (5.0, 5), ("5.0", 5), (1, 1), (100, 100)])
def test_a_whole_number_is_taken_however_it_is_written(given_limit, used):
    decoded = search(limit=given_limit)

    assert decoded.request.limit == used
    assert decoded.warnings == ()


@pytest.mark.parametrize(
    ("given_limit", "used"), [(0, 1), (-1, 1), ("-3", 1), (1e9, 100), (101, 100), (10**400, 100), ("9" * 10_000, 100)]
)
def test_a_limit_out_of_range_is_clamped_and_the_answer_says_so(given_limit, used):
    decoded = search(limit=given_limit)

    assert decoded.request.limit == used
    assert len(decoded.warnings) == 1
    assert f"{used} was used" in decoded.warnings[0]


@pytest.mark.parametrize("bad", [2.5, "2.5", "ten", "", "1e3", True, [], {}, float("nan"), float("inf")])
def test_what_is_no_whole_number_is_refused(bad):
    error = refused("search_code", {"query": "x", "limit": bad})

    assert error.data["field"] == "limit"
    assert "1 to 100" in str(error.data["constraint"])


def test_null_is_as_good_as_absent():
    assert search(limit=None, language=None, project_id=None).request == SearchCode(query="x")


def test_a_null_for_a_required_argument_is_missing():
    assert refused("locate_symbol", {"name": None}).data == {"field": "name", "constraint": "required"}


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u2003"])
def test_a_blank_query_is_refused(blank):
    assert refused("search_code", {"query": blank}).data["field"] == "query"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("detail_level", "signatures"),
        ("freshness_policy", "STRICT"),
        ("ranking_explain_level", "debug"),
        ("mode", "fuzzy"),
        ("kind", "widget"),
        ("detail_level", 3),
    ],
)
def test_a_value_that_is_not_in_the_list_is_refused_with_the_list(field, value):
    error = refused("search_code", {"query": "x", field: value})

    assert error.data["field"] == field
    assert error.data["value"] == value
    assert len(error.data["allowed"]) >= 3


def test_an_unknown_argument_names_the_one_that_was_meant():
    error = refused("search_code", {"query": "x", "detail": "location"})

    assert "did you mean 'detail_level'?" in error.message
    assert error.data["field"] == "detail"


def test_an_unknown_argument_that_resembles_none_lists_all():
    error = refused("get_file_outline", {"path": "a.py", "zzz": 1})

    assert "did you mean" not in error.message
    assert set(error.data["allowed"]) == {"path", "depth", "language", "limit", "ref", "workspace", "project_id"}


def test_an_unknown_tool_names_the_nearest():
    assert "did you mean 'search_code'?" in refused("search_cod", {}).message


def test_a_wrong_strategy_and_a_token_budget_below_one_have_their_own_codes():
    with pytest.raises(InvalidStrategy) as strategy:
        decode("get_code_context", {"query": "x", "strategy": "wide"})
    with pytest.raises(InvalidMaxTokens):
        decode("get_code_context", {"query": "x", "max_tokens": 0})
    with pytest.raises(InvalidMaxTokens):
        decode("get_code_context", {"query": "x", "max_tokens": "-1"})

    assert strategy.value.data["allowed"] == ["breadth", "depth"]
    assert decode("get_code_context", {"query": "x", "max_tokens": 1}).request == GetCodeContext(query="x", max_tokens=1)


@pytest.mark.parametrize("tool", WITH_REF)
def test_every_tool_takes_workspace_project_and_ref(tool):
    request = decode(tool, {**TOOLS[tool].arguments(path="/w"), "workspace": "/w", "project_id": "alias", "ref": "main"}).request

    assert (request.tool, request.workspace, request.project_id, request.ref) == (tool, "/w", "alias", "main")


def test_kind_aliases_mean_the_kinds_of_the_index():
    assert kinds_meant("fn") == kinds_meant("function") == {"fn", "method"}
    assert kinds_meant("class") == {"class", "struct"}
    assert kinds_meant("method") == {"method"}
    assert kinds_meant("namespace") == {"module"}
    for word in KINDS_ON_INPUT:
        assert kinds_meant(word)
        assert decode("locate_symbol", {"name": "x", "kind": word}).request == LocateSymbol(name="x", kind=word)


def test_a_number_of_seconds_to_wait_is_clamped_to_what_clients_bear():
    decoded = decode("index_repo", {"wait_seconds": 600, "force": "true"})

    assert (decoded.request.wait_seconds, decoded.request.force) == (50, True)
    assert len(decoded.warnings) == 1


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", None])
def test_a_blank_workspace_or_ref_is_as_good_as_none(blank):
    assert search(workspace=blank, ref=blank).request == SearchCode(query="x")


def test_a_path_with_a_nul_is_refused_before_anything_is_looked_at():
    assert refused("search_code", {"query": "x", "workspace": "/a\0b"}).data["field"] == "workspace"
    assert refused("index_repository", {"repo_path": "/a\0b"}).data["field"] == "repo_path"


PROJECT_NAMES = ("a", "0", "client-a", "my-project-123", "a-b-c-d", "9lives", "a" * 50, "0123456789abcdef")
NO_PROJECT_NAMES = (
    "", " ", "-", "-a", "a-", "a--b", "A", "My_Project", "a_b", "a.b", "a b", "a/b", "..", "a\n", "\na", "client-a\r",
    "é", "日本", "ﬁ", "a" * 51, "a" * 10_000, "a'; DROP TABLE projects; --", "%61", "a\0", "\ud800", "a\N{ZERO WIDTH SPACE}",
)  # fmt: skip


@pytest.mark.parametrize("name", PROJECT_NAMES)
def test_a_project_may_be_called(name):
    assert search(project_id=name).request.project_id == name


@pytest.mark.parametrize("name", NO_PROJECT_NAMES)
def test_a_project_may_not_be_called(name):
    error = refused("search_code", {"query": "x", "project_id": name})

    assert error.message.startswith("Project identifier must be lowercase alphanumeric with hyphens")
    assert error.data["field"] == "project_id"
    assert error.data["constraint"] == "Must match pattern: ^[a-z0-9]+(-[a-z0-9]+)*$"
    assert len(str(error.data["value"])) <= 101


def test_lone_surrogates_become_replacement_characters_except_in_a_path_of_the_machine():
    request = decode("search_code", {"query": "a\ud800b", "workspace": "/tmp/\udcff"}).request

    assert request.query == "a\ufffdb"
    assert request.workspace == "/tmp/\udcff"


OF_THE_MACHINE = ("machine_path", "workspaces", "project_id")
TEXTS = [
    (tool, argument.name)
    for tool, arguments in ARGUMENTS.items()
    for argument in arguments.values()
    if argument.value_type == "text" and argument.form not in OF_THE_MACHINE and not argument.values
]


@pytest.mark.parametrize(("tool", "name"), TEXTS)
def test_every_text_that_leaves_decoding_is_well_formed(tool, name):
    others = {each.name: "x" for each in ARGUMENTS[tool].values() if each.is_required}

    request = decode(tool, {**others, name: "a\ud800b/\udfff.py"}).request

    assert "\ufffd" in getattr(request, name)
    getattr(request, name).encode()


def test_surrogate_pairs_written_apart_are_joined():
    assert well_formed("\ud83d\ude00") == "😀"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.text(st.characters(categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.invariant(of="test_any_text_whatever_is_a_query")
@given(
    st.sampled_from(WITH_REF),
    st.dictionaries(
        st.sampled_from(["query", "name", "path", "symbol_name", "limit", "kind", "mode", "max_tokens", "zz", "wait_seconds"]),
        json_values,
        max_size=4,
    ),
)
def test_whatever_the_arguments_are_the_outcome_is_a_request_or_a_named_error(tool, arguments):
    codes = {"invalid_input", "invalid_strategy", "invalid_max_tokens"}

    try:
        outcome = decode(tool, arguments).request.tool
    except CodeCompassError as error:
        outcome = error.code
        error.message.encode()

    assert outcome in {tool, *codes}


@pytest.mark.parametrize(
    ("arguments", "decoded"),
    [
        ({"kind": "class,function"}, {"kind": "class,function"}),
        ({"kind": " class , fn,,fn "}, {"kind": "class,fn"}),
        ({"kind": ["class", "test"]}, {"kind": "class,test"}),
        ({"language": ["py", "ts"]}, {"language": "py,ts"}),
        ({"path": ["src/**", "!test/**"]}, {"path": "src/**,!test/**"}),
    ],
)
def test_filters_take_lists(arguments, decoded):
    assert decode("search_code", {"query": "x", **arguments}).request == SearchCode(query="x", **decoded)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("kind", "class,wiget", "'wiget'"), ("kind", ",", "','"), ("path", ["a", 1], "list"), ("path", [], "list")],
)
def test_a_wrong_word_of_a_list_is_named(field, value, said):
    error = refused("search_code", {"query": "x", field: value})

    assert error.data["field"] == field
    assert said in str(error)
    if said == "'wiget'":
        assert set(error.data["allowed"]) == set(KINDS_ON_INPUT)
