"""The schemas of answers match real answers, and say as much about them as the types of the replies do."""

import json

import jsonschema
import msgspec
import pytest

from codecompass.store.registry import Registry
from codecompass.transport.tools.listing import TOOLS, describe
from tests.support import tools
from tests.support.sample import SAMPLE
from tests.support.serving import open_serving
from tests.transport.tools.test_transcripts import TRANSCRIPTS

JSON_TYPES = {
    msgspec.inspect.StrType: "string",
    msgspec.inspect.LiteralType: "string",
    msgspec.inspect.IntType: "integer",
    msgspec.inspect.FloatType: "number",
    msgspec.inspect.BoolType: "boolean",
    msgspec.inspect.NoneType: "null",
    msgspec.inspect.VarTupleType: "array",
    msgspec.inspect.StructType: "object",
    msgspec.inspect.DictType: "object",
}


def types_of(kind) -> set[str]:
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return {JSON_TYPES[type(each)] for each in kinds}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_key_has_the_type_that_the_reply_has(tool):
    fields = {field.encode_name: field for field in msgspec.inspect.type_info(tools.TOOLS[tool.name].reply).fields}

    for name, schema in tool.output["properties"].items():
        said = schema["type"]
        promised = {said} if isinstance(said, str) else set(said)
        # Fields with a default are omitted rather than null.
        real = types_of(fields[name].type) - (set() if fields[name].required else {"null"})
        assert promised == real, name


async def test_real_answers_are_as_their_schemas_say(repository):
    """All successful calls of the transcripts. A client that validates answers would discard any other."""
    schemas = {tool.name: tool.output_schema for tool in describe("all")}
    n_seen = dict.fromkeys(schemas, 0)
    repository.write(SAMPLE)
    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        await serving.call("index_repo", wait_seconds=50)

        for name, calls in TRANSCRIPTS.items():
            for arguments in calls:
                placed = {key: value if value != "<root>" else str(repository.root) for key, value in arguments.items()}
                answer = await serving.answer(name, **placed)
                if answer.error is None:
                    jsonschema.validate(json.loads(answer.payload), schemas[name])
                    n_seen[name] += 1

    assert all(n_seen.values()), n_seen
