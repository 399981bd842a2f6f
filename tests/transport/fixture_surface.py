"""A complete server for the conformance suite: its tools, resources, prompts and completions on the product's session."""

import msgspec
import trio
from msgspec import Struct

from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INVALID_PARAMS
from codecompass.transport.mcp.surface import ResourceText, Surface
from codecompass.transport.mcp.wire import (
    GetPromptResult,
    Implementation,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from tests.transport.fixture_tasks import TaskTools
from tests.transport.fixture_tools import (
    HANDLERS,
    PNG,
    EmbeddedResource,
    ImageContent,
    ResourceBody,
    described,
)

TEMPLATE = "test://template/{id}/data"
WATCHED = "test://watched-resource"


class BlobContents(Struct, rename="camel"):
    uri: str
    mime_type: str
    blob: str


class FixtureTools:
    def __init__(self, nursery):
        self._tasks = TaskTools(nursery)
        self.listed = tuple(described(name) for name in (*HANDLERS, *TaskTools.NAMES))

    def knows(self, name):
        return name in HANDLERS or name in TaskTools.NAMES

    async def call(self, name, arguments, exchange):
        if name in HANDLERS:
            return await HANDLERS[name](arguments, exchange)
        return await self._tasks.call(name, arguments, exchange)


class NeverChanges:
    async def wait_change(self):
        return False


class FixtureResources:
    listed = tuple(
        Resource(uri=uri, name=uri.removeprefix("test://"), description="A fixture.", mime_type=mime_type)
        for uri, mime_type in (
            ("test://static-text", "text/plain"),
            ("test://static-binary", "image/png"),
            (WATCHED, "text/plain"),
        )
    )
    templates = (
        ResourceTemplate(uri_template=TEMPLATE, name="template", description="A fixture.", mime_type="application/json"),
    )

    async def read(self, uri, exchange):
        before, after = TEMPLATE.split("{id}")
        if uri == "test://static-text":
            return of_text(uri, "text/plain", "This is the content of the static text resource.")
        if uri == WATCHED:
            return of_text(uri, "text/plain", "It never changes.")
        if uri == "test://static-binary":
            return ResourceText(contents=(BlobContents(uri, "image/png", PNG),))
        if uri.startswith(before) and uri.endswith(after):
            id_ = uri[len(before) : -len(after)]
            body = {"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"}
            return of_text(uri, "application/json", msgspec.json.encode(body).decode())
        return None

    def exists(self, uri):
        return any(resource.uri == uri for resource in self.listed)

    def watch(self, uri):
        return NeverChanges() if uri == WATCHED else None


def of_text(uri, mime_type, words):
    return ResourceText(contents=(TextResourceContents(uri=uri, mime_type=mime_type, text=words),), is_private=False)


def needed(*names):
    return tuple(PromptArgument(name=name, description="Anything.", required=True) for name in names)


class FixturePrompts:
    listed = (
        Prompt(name="test_simple_prompt", description="A fixture."),
        Prompt(name="test_prompt_with_arguments", description="A fixture.", arguments=needed("arg1", "arg2")),
        Prompt(name="test_prompt_with_embedded_resource", description="A fixture.", arguments=needed("resourceUri")),
        Prompt(name="test_prompt_with_image", description="A fixture."),
    )

    async def get(self, name, arguments, exchange):
        prompt = next((each for each in self.listed if each.name == name), None)
        if prompt is None:
            return None
        for argument in prompt.arguments:
            if argument.name not in arguments:
                raise Fault(INVALID_PARAMS, f"the prompt needs {argument.name}")
        match name:
            case "test_simple_prompt":
                return said(TextContent("This is a simple prompt for testing."))
            case "test_prompt_with_arguments":
                one, two = arguments["arg1"], arguments["arg2"]
                return said(TextContent(f"Prompt with arguments: arg1='{one}', arg2='{two}'"))
            case "test_prompt_with_embedded_resource":
                body = ResourceBody(arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
                return said(EmbeddedResource(body), TextContent("Please process the embedded resource above."))
            case _:
                return said(ImageContent(), TextContent("Please analyze the image above."))


def said(*contents):
    return GetPromptResult(messages=tuple(PromptMessage("user", content) for content in contents))


class FixtureCompletions:
    async def complete(self, params, exchange):
        return tuple(word for word in ("paris", "park", "party") if word.startswith(params.argument.value))


def fixture_surface(nursery: trio.Nursery) -> Surface:
    """Returns the surface; its tasks run in `nursery`."""
    return Surface(
        info=Implementation(name="codecompass-fixtures", version="1"),
        tools=FixtureTools(nursery),
        resources=FixtureResources(),
        prompts=FixturePrompts(),
        completions=FixtureCompletions(),
    )
