"""Which projects' indexes may be the base of another for the clients of a server."""

from msgspec.structs import replace

from codecompass.identity import project_id
from codecompass.projects.visibility import visible_bases
from codecompass.store.registry import Registry


async def taken_up(world, name):
    root = world.repository(name)
    await world.registry.run(Registry.register, root)
    return project_id(root)


async def test_without_allowed_roots_every_index_may_be_a_base(world):
    await taken_up(world, "dev/shop")

    assert await visible_bases(world.registry, world.rules) is None


async def test_with_allowed_roots_those_of_visible_projects_may(world):
    shop, pinned, vault = [await taken_up(world, name) for name in ("dev/shop", "pinned", "vault")]
    rules = replace(world.rules, allowed_roots=(world.top / "dev",), pinned=(world.top / "pinned",))

    assert await visible_bases(world.registry, rules) == {shop, pinned}

    await world.registry.run(Registry.adopt, vault, as_default=True)
    assert await visible_bases(world.registry, rules) == {shop, pinned, vault}

    await world.registry.run(Registry.remove, shop)
    assert await visible_bases(world.registry, rules) == {pinned, vault}


async def test_a_registry_that_cannot_be_read_allows_none(world):
    await taken_up(world, "dev/shop")
    rules = replace(world.rules, allowed_roots=(world.top / "dev",))
    world.home.registry.rename(world.home.root / "moved.db")
    world.home.registry.write_bytes(b"no database" * 1000)

    assert await visible_bases(world.registry, rules) == frozenset()
