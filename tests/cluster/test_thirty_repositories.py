"""An organisation of thirty repositories, two workers, two servers and three nodes, all in separate processes, with faults during
requests. No answer mixes two commits, goes back in time or leaks, and nothing that was pushed is lost."""

import random
import socket
import time
from collections.abc import Iterator

import pytest

from tests.cluster.asking import PATIENCE_MS, ask, clients_asking
from tests.cluster.cluster import Cluster
from tests.cluster.thirty import EVERYWHERE, N_REPOSITORIES, Thirty, wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.thirty,
    pytest.mark.timeout(600),
    pytest.mark.invariant(of="tests/cluster/test_faults.py"),
]

KILLS = 20
LONGEST_WORK_SECONDS = 1.2
"""Seconds after a claim by which the work on a pushed repository has ended, or nearly so."""


@pytest.fixture(scope="module")
def house(engine_cluster, tmp_path_factory) -> Iterator[Thirty]:
    """The organisation, indexed and published. Each test leaves all processes running."""
    made = Thirty(engine_cluster.urls, tmp_path_factory.mktemp("thirty"))
    try:
        made.start()
        made.wait_until_published()
        for name, each in made.pushed.items():
            head = made.now(name).default_head
            assert head is not None
            each.n_files = head.file_count
        yield made
    finally:
        made.end()


@pytest.fixture
def draw() -> random.Random:
    seed = random.randrange(10**9)
    print("seed", seed)
    return random.Random(seed)


def test_two_workers_index_thirty_repositories_and_each_token_shows_its_own(house):
    with clients_asking(house):
        answers = {
            (group, port): [result["project"] for result in marks(house, port, group)]
            for group in house.tokens
            for port in house.ports
        }

    assert len(house.pushed) == N_REPOSITORIES
    for (group, _), found in answers.items():
        assert sorted(found) == sorted(house.seen_by(group))
    assert all(worker.next("generation_written") for worker in house.workers), "both have worked"


def test_workers_that_are_killed_at_any_moment_lose_nothing_and_leave_nothing(house, draw):
    with clients_asking(house) as clients:
        for _ in range(KILLS):
            for name in draw.sample(house.edited, 2):
                house.push(name)
            worker = wait_for_a_claim(house)
            time.sleep(draw.uniform(0, LONGEST_WORK_SECONDS))
            house.kill_worker(worker)
        house.wait_until_published()
        house.wait_until_swept()

    assert house.differences() == {}
    assert clients.unanswered() == []


def test_a_server_that_is_killed_costs_nobody_else_and_another_one_gives_the_same_answers(house):
    house.wait_until_published()
    with clients_asking(house) as clients:
        group = next(iter(house.tokens))
        before = questions(house, house.ports[1], group)
        house.servers[1].kill()
        with pytest.raises(OSError, match="refused"):
            marks(house, house.ports[1], group)
        after = questions(house, house.ports[0], group)
        house.start_server_again(1)
        clients.wait_for_answers()
        again = questions(house, house.ports[1], group)

    assert before == after == again
    assert clients.unanswered(server=0) == []
    assert not any(client.unanswered for client in clients.each), "only connections were lost"


def test_workers_wait_while_the_disk_is_full(breakable_cluster, house):
    with clients_asking(house) as clients:
        with breakable_cluster.full_disk():
            wait_until(lambda: is_blocked(breakable_cluster, house))
            # Not even leases can be written. A worker that notices the full disk itself waits, as do busy workers.
            name = house.edited[0]
            commit = house.pushed[name].remote.push({"late.py": "LATE = 1\n"})
            clients.wait_for_answers()
            assert house.now(name).default_head.commit != commit
        house.pushed[name].n_files += 1
        house.push(name)
        house.wait_until_published()

    assert clients.unanswered() == []
    wait_until(breakable_cluster.makes_indexes)


def test_while_the_whole_engine_is_away_servers_say_so_and_workers_go_on_afterwards(breakable_cluster, house, draw):
    with clients_asking(house) as clients:
        for name in house.edited:
            house.push(name)
        wait_for_a_claim(house)
        for node in breakable_cluster.nodes:
            node.pause()
        clients.wait_for_refusals()
        for node in breakable_cluster.nodes:
            node.kill()
        clients.wait_for_refusals()
        breakable_cluster.mend()
        clients.wait_for_answers()
        house.wait_until_published()
        clients.wait_for_answers()


def test_while_the_store_of_segments_is_away_nothing_wrong_is_answered_and_everything_goes_on_afterwards(house):
    away = house.segments.with_name("unmounted")
    with clients_asking(house) as clients:
        house.segments.rename(away)
        for name in house.edited:
            house.push(name)
        wait_until(lambda: all(house.now(name).failures > 0 for name in house.edited))
        clients.wait_for_answers()
        away.rename(house.segments)
        house.wait_until_published()
        clients.wait_for_answers()


def test_a_remote_that_hangs_and_a_history_that_is_rewritten_delay_nobody(house):
    with clients_asking(house) as clients, socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = [
            house.repositories.add(f"http://127.0.0.1:{silent.getsockname()[1]}/a/{number}", name=f"hanging{number}").repository
            for number in range(3)
        ]
        house.push(house.edited[0], rewrites=True)
        for name in house.edited[1:]:
            house.push(name)
        house.wait_until_published()
        for each in hanging:
            wait_until(lambda each=each: (house.repositories.get(each.repo_id) or each).failures > 0)
            house.repositories.remove(each.url)
        wait_until(lambda: all(house.repositories.get(each.repo_id) is None for each in hanging))

    assert clients.unanswered() == []


@pytest.mark.parametrize("fault", ["killed", "paused"])
def test_with_one_node_of_three_gone_everything_goes_on(breakable_cluster, house, draw, fault):
    with clients_asking(house) as clients:
        node = draw.choice(breakable_cluster.nodes)
        push_all(house)
        (node.kill if fault == "killed" else node.pause)()
        push_all(house)
        house.wait_until_published()
        clients.wait_for_answers()
        if fault == "paused":
            node.resume()
        push_all(house)
        breakable_cluster.mend()
        clients.wait_for_answers()
        push_all(house)
        house.wait_until_published()
        clients.wait_for_answers()


def test_after_all_of_it_the_engine_has_the_newest_commits_and_nothing_else(house):
    house.wait_until_published()
    house.wait_until_swept()

    assert house.differences() == {}


def push_all(house: Thirty) -> None:
    for name in house.edited:
        house.push(name)


def marks(house: Thirty, port: int, group: str) -> list[dict]:
    return ask(
        port,
        house.tokens[group],
        "search_code",
        query=EVERYWHERE,
        mode="literal",
        workspace="*",
        limit=50,
        timeout_ms=PATIENCE_MS,
    )[1]["results"]


def questions(house: Thirty, port: int, group: str) -> list[object]:
    """Returns a server's answers to some requests."""
    name = next(name for name in house.edited if name in house.seen_by(group))
    asked = (
        ("search_code", {"query": "parse the headers of a request", "workspace": "*", "timeout_ms": PATIENCE_MS}),
        ("search_code", {"query": EVERYWHERE, "mode": "literal", "workspace": "*", "limit": 50, "timeout_ms": PATIENCE_MS}),
        ("locate_symbol", {"name": "number_two", "workspace": "*"}),
        ("find_references", {"symbol_name": "number_two", "workspace": name}),
        ("get_file_outline", {"path": "numbered/one.py", "workspace": name}),
    )
    found = []
    for tool, arguments in asked:
        said = ask(port, house.tokens[group], tool, **arguments)[1]
        assert "error" not in said, said
        found.append({key: value for key, value in said.items() if key != "metadata"})
    return found


def wait_for_a_claim(house: Thirty) -> int:
    """Waits until a worker claims a repository, and returns the worker's number."""
    for worker in house.workers:
        while worker.next("repository_claimed") is not None:
            pass
    found: list[int] = []

    def has_claimed() -> bool:
        found.extend(number for number, worker in enumerate(house.workers) if worker.next("repository_claimed") is not None)
        return bool(found)

    wait_until(has_claimed)
    return found[0]


def is_blocked(cluster: Cluster, house: Thirty) -> bool:
    """Whether the engine refuses writes for lack of space, which it does after some seconds."""
    return cluster.request("PUT", f"/{house.engine.names.access}/_doc/probe", {"name": "probe"})[0] in (403, 429)
