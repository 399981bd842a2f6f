"""The first question after an upgrade: today's program answers from homes of all earlier formats, and loses nothing of them."""

import sqlite3
from contextlib import closing

import pytest

from codecompass.store.registry_database import COMPATIBLE_VERSION
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from tests.cli.conftest import CommandLine
from tests.support.old_homes import GROUP, NAME, all_homes, has_group, unpack, versions
from tests.support.serving import open_serving

pytestmark = pytest.mark.invariant(
    "The first question after an upgrade is answered from a home of any earlier format, and no name, group or job is "
    "lost; a question does not lock older programs out"
)

OLD = [name for name in all_homes() if versions(name)[:2] < (SCHEMA_VERSION, PARSER_VERSION)]


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path.resolve())


def upgraded(cli, name):
    """Unpacks a home, with its project's tree, as that of the command line."""
    root = cli.tree("shop")
    unpack(name, cli.home, root)
    return root


def registry_version(cli):
    with closing(sqlite3.connect(cli.home / "registry.db")) as registry:
        return registry.execute("PRAGMA user_version").fetchone()[0]


def jobs(cli):
    with closing(sqlite3.connect(cli.home / "registry.db")) as registry:
        return registry.execute("SELECT job_id, status FROM jobs ORDER BY sequence").fetchall()


def test_the_format_before_this_one_has_a_home():
    """Or this one, if it is kept already: no format is forgotten when the next one is begun."""
    schema, parser, _ = versions(all_homes()[-1])

    assert {SCHEMA_VERSION - schema, PARSER_VERSION - parser} <= {0, 1}


@pytest.mark.parametrize("name", OLD)
def test_the_command_line_answers_the_first_question_and_says_that_it_rebuilds_the_index(cli, name):
    upgraded(cli, name)

    first, second = cli("search", "total_price", "--json"), cli("locate", "Cart", "--json")

    assert first.code == 0, first
    assert first.json["results"][0]["path"] == "shop/cart.py"
    assert "anew: its index is of an older format (codecompass 0.1.0)" in first.err
    assert second.json["results"][0]["name"] == "Cart"
    assert "indexing" not in second.err


@pytest.mark.parametrize("name", all_homes())
def test_names_groups_and_jobs_are_kept_and_the_registry_stays_readable_for_the_program_that_made_it(cli, name):
    upgraded(cli, name)
    before, registry = jobs(cli), versions(name)[2]

    assert cli("search", "total_price").code == 0

    assert "--force" not in cli("projects", "list").out
    [project] = cli("projects", "list", "--json").json["projects"]
    assert project["name"] == NAME
    assert cli("projects", "group", "others", NAME).code == 0
    groups = {group["name"] for group in cli("projects", "groups", "--json").json["groups"]}
    assert groups == ({"others", GROUP} if has_group(name) else {"others"})
    assert jobs(cli)[: len(before)] == before
    assert registry_version(cli) == min(registry, COMPATIBLE_VERSION)


def test_a_registry_of_the_first_version_keeps_jobs_and_can_still_be_upgraded_by_later_programs(cli):
    """Programs of versions 2 to 4 add a column to it, which is refused if it has the column."""
    upgraded(cli, next(name for name in all_homes() if versions(name)[2] == 1))

    assert cli("search", "total_price").code == 0
    before = cli("status", "--json").json["recent_jobs"]
    with closing(sqlite3.connect(cli.home / "registry.db")) as registry, registry:
        registry.execute("ALTER TABLE jobs ADD COLUMN error_code TEXT NOT NULL DEFAULT ''")
        registry.execute("PRAGMA user_version = 2")
    after = cli("status", "--json").json["recent_jobs"]

    assert [job["status"] for job in before] == ["published", "published"]
    assert after == before


def test_a_registry_that_a_later_program_raised_is_lowered_for_the_earlier_ones(cli):
    """A program of version 4 raises the version, and a program of version 3 then refuses every project."""
    cli.tree("shop")
    assert cli("index").code == 0
    with closing(sqlite3.connect(cli.home / "registry.db")) as registry:
        registry.execute("PRAGMA user_version = 4")

    assert cli("search", "total_price").code == 0

    assert registry_version(cli) == COMPATIBLE_VERSION


@pytest.mark.parametrize("name", all_homes())
async def test_a_server_answers_the_first_question(cli, name):
    root = upgraded(cli, name)

    async with open_serving(cli.home) as serving:
        answer = await serving.answer("locate_symbol", workspace=str(root), name="total_price")

    assert answer.error is None
    assert b"shop/cart.py" in answer.payload


def test_an_index_of_this_format_is_not_built_anew(cli):
    same = [name for name in all_homes() if versions(name)[:2] == (SCHEMA_VERSION, PARSER_VERSION)]
    for name in same:
        upgraded(cli, name)

        done = cli("locate", "Cart")

        assert "anew" not in done.err


def test_an_index_that_cannot_be_read_is_built_anew_by_a_question(cli):
    root = cli.tree("shop")
    assert cli("index").code == 0
    (current,) = cli.home.glob("projects/*/CURRENT")
    current.write_text("nonsense")

    done = cli("search", "total_price", "--json")

    assert done.json["results"][0]["path"] == "shop/cart.py"
    assert f"indexing {root} anew: its index cannot be read" in done.err
