"""A server with allowed roots takes nothing into an index from an index of a project outside, neither as the base of a fork nor
as known content.

Git's index and objects in a tree may claim any blob ids. `trap` claims to hold the files of `vault`, which was indexed by an
earlier server without allowed roots.
"""

import hashlib
import os
import zlib
from pathlib import Path

import pytest

from codecompass.actors.index_limits import FORK_FROM_FILES
from codecompass.identity import blob_id, canonical_root
from codecompass.projects.detection import RoutingRules
from tests.scan.trees import git, repository
from tests.support.routing import Client
from tests.support.serving import Serving, open_serving

CANARY = "zirconium"
N_FILES = FORK_FROM_FILES + 10

SECRET = {f"m{number}.py": f"def {CANARY}_{number:02}(): pass\n" for number in range(N_FILES)}
OWN = {path: text.replace(CANARY, "unrelated") for path, text in SECRET.items()}
assert {len(text) for text in OWN.values()} == {len(text) for text in SECRET.values()}


class Trapped:
    """`inside` is allowed. `trap` lies there and has files of the same paths and sizes as `vault`, which lies outside."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        self.inside = top / "inside"
        self.vault = repository(top / "outside" / "vault", tracked=SECRET)
        self.trap = repository(self.inside / "trap", tracked=OWN)
        self.rules = RoutingRules(allowed_roots=(self.inside,))

    def claim_in_the_index(self) -> None:
        """Makes git's index in `trap` say that its files, as they are, have the blob ids of those of `vault`."""
        path = self.trap / ".git" / "index"
        content = path.read_bytes()[:-20]
        for name, own in OWN.items():
            assert content.count(blob_id(own.encode(), "sha1")) == 1
            content = content.replace(blob_id(own.encode(), "sha1"), blob_id(SECRET[name].encode(), "sha1"))
        path.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
        written = max((self.trap / name).stat().st_ctime_ns for name in OWN)
        os.utime(path, ns=(written + 10**10, written + 10**10))

    def claim_in_a_commit(self) -> str:
        """Returns a commit in `trap` of files with the blob ids of those of `vault`, whose objects have another content."""
        lines = []
        for name, text in SECRET.items():
            object_id = blob_id(text.encode(), "sha1").hex()
            place = self.trap / ".git" / "objects" / object_id[:2] / object_id[2:]
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(zlib.compress(b"blob %d\0%s" % (len(text), OWN[name].encode())))
            lines.append(f"100644 blob {object_id}\t{name}")
        tree = git(self.trap, "mktree", stdin="\n".join(lines).encode() + b"\n").decode().strip()
        return git(self.trap, "commit-tree", "-m", "claims", tree).decode().strip()


@pytest.fixture
async def trapped(tmp_path: Path) -> Trapped:
    found = Trapped(canonical_root(tmp_path))
    async with open_serving(found.home) as before:
        await index(before, found.vault)
    return found


async def index(serving: Serving, root: Path) -> dict:
    return await serving.call("index_repo", Client(transport="stdio"), workspace=root, wait_seconds=50)


async def found_secrets(serving: Serving, root: Path, **asked: object) -> list[str]:
    """Returns answers of all tools that show content, if they have anything of the project outside."""
    questions = [
        ("search_code", {"query": f"{CANARY}_00"}),
        ("search_code", {"query": "def pass", "detail_level": "body"}),
        ("locate_symbol", {"name": f"{CANARY}_00"}),
        ("get_file_outline", {"path": "m0.py"}),
        ("read_file", {"path": "m0.py"}),
    ]
    answers = []
    for tool, given in questions:
        typed = " ".join(map(str, given.values()))
        answer = (await serving.answer(tool, Client(), workspace=root, **given, **asked)).payload
        text = answer.decode() if isinstance(answer, bytes) else answer
        answers += [text] if f"{CANARY}_" in text.replace(typed, "") else []
    return answers


@pytest.mark.invariant(
    "A server with allowed roots takes nothing of a project outside into an index inside, whatever blob ids a repository claims"
)
async def test_claims_in_gits_index_bring_in_nothing_from_outside(trapped: Trapped):
    trapped.claim_in_the_index()

    async with open_serving(trapped.home, rules=trapped.rules) as serving:
        made = await index(serving, trapped.trap)
        secrets = await found_secrets(serving, trapped.trap)
        own = await serving.call("locate_symbol", workspace=trapped.trap, name="unrelated_00")

    assert secrets == []
    assert [hit["path"] for hit in own["results"]] == ["m0.py"]
    assert made["status"] == "published"


@pytest.mark.invariant(of="test_claims_in_gits_index_bring_in_nothing_from_outside")
async def test_claims_in_a_commit_bring_in_nothing_from_outside(trapped: Trapped):
    commit = trapped.claim_in_a_commit()

    async with open_serving(trapped.home, rules=trapped.rules) as serving:
        await index(serving, trapped.trap)
        secrets = await found_secrets(serving, trapped.trap, ref=commit)

    assert secrets == []


@pytest.mark.invariant(of="test_claims_in_gits_index_bring_in_nothing_from_outside")
async def test_claims_in_a_bare_repository_bring_in_nothing_from_outside(trapped: Trapped):
    commit = trapped.claim_in_a_commit()
    bare = trapped.inside / "bare.git"
    (trapped.trap / ".git").rename(bare)
    git(bare, "config", "core.bare", "true")
    git(bare, "update-ref", "refs/heads/main", commit)

    async with open_serving(trapped.home, rules=trapped.rules) as serving:
        await serving.answer("index_repo", Client(transport="stdio"), workspace=bare, wait_seconds=50)
        secrets = await found_secrets(serving, bare)

    assert secrets == []
