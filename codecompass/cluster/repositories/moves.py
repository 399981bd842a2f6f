"""Moves a repository to another address: what was asked of it goes along, and it is answered for all the time.

The id of a repository is a hash of its address, so the new address is another repository, which is indexed anew while the old
one goes on answering. Once it is indexed, workers take the old one out (`finish_moves`), and the new one gets its name if
somebody had given one. Until then both are found, later links to the old one lead to the new one (`Repository.former`).
"""

from msgspec.structs import replace

from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.repository import Repository
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.scan.git_remotes import parse_url


def move(repositories: Repositories, name: str, url: str) -> Repository:
    """Moves the repository of this name, address or id to an address, and returns it as it is there.

    Raises ProjectNotFound, InvalidInput if the address is not accepted, or is that of another repository.
    """
    old = repositories.find(name)
    target = parse_url(url, repositories.protocols)
    if target.repo_id == old.repo_id:
        # Another way to write the same address.
        return repositories.add(url).repository
    there = repositories.get(target.repo_id)
    if there is not None and not there.is_removed:
        if there.moved_from == old.repo_id:
            return there
        raise InvalidInput(
            f"{url[:200]} is a repository already ({there.name}). Remove one of the two: codecompass cluster remove NAME",
            field="url",
        )
    named = "" if old.name == parse_url(old.url, repositories.protocols).name else old.name
    added = repositories.add(url, refs=old.wanted_refs, groups=old.groups).repository
    repositories.note_former(added.repo_id, old)

    def following(repository: Repository) -> Repository:
        return replace(repository, moved_from=old.repo_id, moved_name=named)

    return repositories.update(added.repo_id, following) or added


def finish_moves(repositories: Repositories) -> int:
    """Takes out what has been indexed at its new address, and gives names. Returns how many moves have advanced. Blocking."""
    n_advanced = 0
    for each in repositories.listed():
        if each.moved_from:
            former = repositories.get(each.moved_from)
            is_answering = former is not None and not former.is_removed and bool(former.heads)
            if is_answering and not each.heads:
                continue
            try:
                repositories.remove(each.moved_from)
            except ProjectNotFound:
                pass  # somebody has removed it
            repositories.update(each.repo_id, lambda old: replace(old, moved_from=""))
            n_advanced += 1
        elif each.moved_name:
            try:
                repositories.add(each.url, name=each.moved_name)
            except InvalidInput:
                continue  # the old one has the name until it is swept
            repositories.update(each.repo_id, lambda old: replace(old, moved_name=""))
            n_advanced += 1
    return n_advanced
