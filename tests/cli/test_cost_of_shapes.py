"""No value of an argument or option costs a command much because of its shape (see `tests/support/text_shapes.py`)."""

import asyncclick
import pytest

from codecompass.cli.tool_options import max_length
from tests.cli.test_bounds import PARAMETERS, words
from tests.support.text_shapes import MAX_ARGUMENT, SHAPES, expensive

pytestmark = pytest.mark.invariant(of="tests/contract/test_cost_of_shapes.py")

WITHOUT_END = ("serve-mcp", "ui", "cluster")
"""Commands that run until somebody ends them, or need an engine."""

TEXTS = [
    (path, command, parameter)
    for path, command, parameter in PARAMETERS
    if not isinstance(parameter.type, asyncclick.Choice | type(asyncclick.INT) | type(asyncclick.FLOAT))
    and path.split()[1:2] not in [[name] for name in WITHOUT_END]
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "command", "parameter"), TEXTS, ids=[f"{path} {parameter.name}" for path, _, parameter in TEXTS]
)
async def test_no_shape_of_a_value_costs_a_command_more_than_another(cli, path, command, parameter):
    cli.tree("shop")
    cli("index")
    length = min(MAX_ARGUMENT, max_length(parameter))

    async def call(text):
        cli(*words(path, command, parameter, text))

    assert not await expensive(call, {shape: make(length) for shape, make in SHAPES.items()})
