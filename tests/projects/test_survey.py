"""A survey: all registered projects and the states of their indexes, at little cost if nothing has changed."""

import sqlite3

from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.languages import PARSED_LANGUAGES, SYMBOL_LANGUAGES
from codecompass.languages.table import LANGUAGES
from codecompass.projects import survey
from codecompass.projects.detection import RoutingRules
from codecompass.projects.survey import ProjectSurvey, machine_problems, missing_grammars
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Registry, open_registry


async def test_a_project_is_seen_as_its_index_is_and_again_once_that_changes(world, workspace):
    home = HomeLayout(workspace.home)
    await world.registry.run(Registry.register, workspace.root)
    survey = ProjectSurvey(world.registry, home, BlockingCalls(), RoutingRules())

    (before,) = (await survey.refresh()).projects
    workspace.write({"a.py": "def f(): pass\n"})
    await workspace.sync()
    (indexed,) = (await survey.refresh()).projects
    (same,) = (await survey.refresh()).projects
    workspace.write({"b.py": "def g(): pass\n"})
    await workspace.sync()
    (changed,) = (await survey.refresh()).projects

    assert (before.schema_status, before.meta, before.current_schema_version) == ("not_indexed", None, 0)
    assert (indexed.schema_status, indexed.meta.file_count, indexed.meta.symbol_count) == ("compatible", 1, 1)
    assert same.meta is indexed.meta
    assert changed.meta.file_count == 2


async def test_a_broken_index_and_a_missing_directory_are_seen(world, workspace):
    await world.registry.run(Registry.register, workspace.root)
    survey = ProjectSurvey(world.registry, HomeLayout(workspace.home), BlockingCalls(), RoutingRules())
    await workspace.sync()
    workspace.layout.current.write_text("no json")

    (broken,) = (await survey.refresh()).projects
    workspace.root.rmdir()
    (gone,) = (await survey.refresh()).projects

    assert (broken.schema_status, broken.meta, broken.exists) == ("corrupt_manifest", None, True)
    assert gone.exists is False


async def test_a_database_that_is_none_gives_no_meta(world, workspace):
    await world.registry.run(Registry.register, workspace.root)
    survey = ProjectSurvey(world.registry, HomeLayout(workspace.home), BlockingCalls(), RoutingRules())
    await workspace.sync()
    (facts,) = workspace.layout.epochs.glob("*/facts.db")
    facts.write_bytes(b"not a database" * 1000)

    (broken,) = (await survey.refresh()).projects

    assert (broken.schema_status, broken.meta) == ("compatible", None)


async def test_jobs_of_other_processes_are_seen(world):
    project = await world.registry.run(Registry.register, world.repository("shop"))
    with open_registry(world.home) as registry:
        JobLog(registry).create(project.project_id, "full", cause="elsewhere", job_id="j1")

    (seen,) = (await ProjectSurvey(world.registry, world.home, BlockingCalls(), RoutingRules()).refresh()).projects

    assert seen.active_job.job_id == "j1"


async def test_a_registry_that_cannot_be_read_leaves_what_was_known(world):
    await world.registry.run(Registry.register, world.repository("shop"))
    survey = ProjectSurvey(world.registry, world.home, BlockingCalls(), RoutingRules())
    before = await survey.refresh()
    with sqlite3.connect(world.home.registry) as connection:
        connection.execute("DROP TABLE jobs")
        connection.execute("DROP TABLE projects")
    connection.close()

    after = await survey.refresh()

    assert (before.registry_error, len(before.projects)) == ("", 1)
    assert "cannot be read" in after.registry_error
    assert after.projects == before.projects


def test_every_language_has_its_grammar_here_and_one_that_is_missing_is_named(monkeypatch):
    assert missing_grammars() == ()

    monkeypatch.setitem(LANGUAGES, "csharp", replace(LANGUAGES["csharp"], grammar_package="no_such_package"))
    assert missing_grammars() == ("csharp",)
    monkeypatch.setattr(survey, "GRAMMAR_PACK", "no_such_package")
    assert missing_grammars() == PARSED_LANGUAGES


def test_a_grammar_that_is_not_named_missing_can_be_loaded():
    from codecompass.worker.parsing import Parsers

    parsers = Parsers()

    assert [name for name in SYMBOL_LANGUAGES if parsers.get(name) is None] == list(missing_grammars())


def test_what_keeps_indexes_from_being_written_is_named_with_what_helps(tmp_path, monkeypatch):
    assert machine_problems(tmp_path / "not" / "made") == ()

    monkeypatch.setattr(survey, "FULL_DISK_BYTES", 1 << 60)
    (full,) = machine_problems(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    _, no_git = machine_problems(tmp_path)

    assert f"the disk of {tmp_path} has only" in full
    assert "Ask the user to free disk space there" in full
    assert "git cannot be run" in no_git
    assert "Ask the user to install git" in no_git
