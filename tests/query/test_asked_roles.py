"""What a question asks for besides its subject (tests, a guide, an implementation), and which places have it."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.words.asked_roles import asked_roles
from codecompass.scan.path_roles import role_of

SEMAPHORE = '''\
class Semaphore:
    """Limits how many tasks run at once."""

    def forget_permits(self, n):
        """Reduces the permits of the semaphore by at most n."""
        self.permits = max(0, self.permits - n)
'''
TESTS = """\
from pool.semaphore import Semaphore


def test_forget_permits_reduces():
    semaphore = Semaphore(3)
    semaphore.forget_permits(2)
    assert semaphore.permits == 1
"""
CHANGES = """\
Version 2.1

- Semaphore.forget_permits was added.

Version 2.0

- Tasks are cancelled in order.
"""
MANIFEST = """\
{
  "name": "@pool/runner",
  "dependencies": {
    "tinyrainbow": "^3.0.0",
    "semaphore": "^1.1.0"
  }
}
"""
HEADER = """\
/* Replaces all pairs in a text. */
int replace_all(char *text, const struct pair *pairs);
"""
SOURCE = """\
#include "replace.h"

int replace_all(char *text, const struct pair *pairs) {
  int n = 0;
  while (next_pair(&pairs)) {
    n += replace_one(text, pairs);
  }
  return n;
}
"""
SETTINGS = '''\
import os

POOL_THREADS = int(os.environ.get("POOL_THREADS", "8"))


def threads_of(pool):
    """The threads of a pool."""
    return pool.threads
'''
SHAPES = '''\
class RetrySettings:
    """How a retry behaves."""

    attempts: int = 3


def retry_settings_text(settings):
    """Says the settings of a retry: the settings, as text."""
    return f"{settings.attempts} retry settings"
'''
FILES = {
    "pool/semaphore.py": SEMAPHORE,
    "tests/test_semaphore.py": TESTS,
    "CHANGES.rst": CHANGES,
    "packages/runner/package.json": MANIFEST,
    "packages/runner/src/index.ts": "export function runner() {\n  return startSemaphore();\n}\n",
    "docs/semaphores.md": "# Semaphores\n\nHow to limit tasks with a semaphore: take permits, forget permits.\n",
    "include/replace.h": HEADER,
    "src/replace.c": SOURCE,
    "pool/threads.py": SETTINGS,
    "pool/shapes.py": SHAPES,
}


@pytest.fixture
def first(index_of, state):
    snapshot = index_of(FILES)

    def asked(query):
        return search_code(snapshot, SearchCode(query=query), state).results[0]

    return asked


@pytest.mark.parametrize(
    ("query", "roles"),
    [
        ("tests for Semaphore forget_permits", ["tests"]),
        ("which tests cover the retry delay", ["tests"]),
        ("guide to autoloading", ["guide"]),
        ("is there documentation on error pages", ["guide"]),
        ("changelog entry of the new router", ["changelog"]),
        ("in which version was the old hook removed", ["changelog"]),
        ("dependencies of @pool/runner", ["dependency"]),
        ("which version of tinyrainbow do we depend on", ["dependency"]),
        ("upgrade guide from version 2 to version 3", ["migration"]),
        ("environment variable for the number of threads", ["environment"]),
        ("where is the --max-size flag parsed", ["option"]),
        ("default value of max depth", ["default"]),
        ("which exception is raised for a missing key", ["error"]),
        ("struct that holds the settings of a retry", ["type"]),
        ("interface to implement for a formatter", ["interface"]),
        ("implementation of replace_all", ["implementation"]),
        ("how long does a failed request wait", []),
        ("migration autodetector", []),
        ("type checker options", []),
    ],
)
def test_roles_are_known_by_how_people_ask_for_them(query, roles):
    assert [role.name for role in asked_roles(query).roles] == roles


@pytest.mark.parametrize(
    "query", ["Add tests for the pool", "fix: default value of depth", "Update the changelog entry", "Remove dependency on rich"]
)
def test_an_order_asks_for_nothing(query):
    assert asked_roles(query).roles == ()


def test_the_words_that_ask_weigh_little():
    asked = asked_roles("tests for the semaphore")

    assert asked.weight("tests") < asked.weight("semaphore") == 1.0


def test_of_files_only_those_are_lifted_that_have_what_is_asked_for():
    asked = asked_roles("tests for the semaphore")

    assert asked.file_factor("tests/test_semaphore.py", role_of("tests/test_semaphore.py")) > 1.0
    assert asked.file_factor("pool/semaphore.py", role_of("pool/semaphore.py")) is None


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("tests for Semaphore forget_permits", "tests/test_semaphore.py"),
        ("changelog: in which version was forget_permits added", "CHANGES.rst"),
        ("dependencies of @pool/runner", "packages/runner/package.json"),
        ("guide on limiting tasks with a semaphore", "docs/semaphores.md"),
        ("how does a semaphore forget permits", "pool/semaphore.py"),
        ("implementation of replace_all", "src/replace.c"),
        ("replace all pairs in a text", "src/replace.c"),
    ],
)
def test_what_has_what_is_asked_for_is_first(first, query, path):
    assert first(query).path == path


def test_an_environment_variable_is_where_it_is_read(first):
    hit = first("environment variable for the threads of a pool")

    assert (hit.path, hit.name) == ("pool/threads.py", "POOL_THREADS")


def test_a_type_that_is_asked_for_comes_before_a_function_with_the_same_words(first):
    assert first("class that holds the retry settings").name == "RetrySettings"


def test_the_section_of_a_document_is_the_place_that_has_most_of_the_question(index_of, state):
    filler = "".join(f"Version 1.{number}\n\n- The pool was changed, the pool was added to.\n\n" for number in range(80))
    text = filler + "Version 0.9\n\n- POOL_MAX_SIZE was added.\n\n" + filler.replace("1.", "0.")
    hit = search_code(
        index_of({"CHANGES.md": text}), SearchCode(query="when was POOL_MAX_SIZE added to the pool"), state
    ).results[0]

    line = text[: text.index("POOL_MAX_SIZE")].count("\n") + 1
    assert hit.line_start <= line <= hit.line_end
