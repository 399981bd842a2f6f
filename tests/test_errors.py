"""Of all that may go wrong at once, one error is reported; exception groups are taken apart here and nowhere else."""

import ast
from collections.abc import Callable

import pytest

from codecompass.errors import (
    CodeCompassError,
    IndexNotReady,
    InternalError,
    cause_of,
    causes,
    collapse_groups,
    is_interrupt,
    reported,
)
from tests.support.patterns import PACKAGE

OURS = IndexNotReady("there is none")
DEFECT = InternalError("a consequence")
REFUSED = OSError(28, "No space left on device")
VALUE = ValueError("x")


def group(*errors):
    return BaseExceptionGroup("", list(errors))


def test_the_causes_are_all_that_is_in_a_group_in_order():
    assert causes(group(VALUE, group(OURS, group(REFUSED)))) == (VALUE, OURS, REFUSED)
    assert causes(VALUE) == (VALUE,)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (VALUE, VALUE),
        (group(group(VALUE)), VALUE),
        (group(VALUE, DEFECT, REFUSED, OURS), OURS),
        (group(VALUE, DEFECT, group(REFUSED)), REFUSED),
        (group(VALUE, group(DEFECT)), DEFECT),
        (group(KeyError("a"), VALUE), None),
    ],
)
def test_the_cause_that_somebody_can_act_upon_is_reported(error, cause):
    assert cause_of(error) is (causes(error)[0] if cause is None else cause)


def test_a_caller_may_prefer_a_class():
    assert cause_of(group(OURS, VALUE), ValueError) is VALUE
    assert cause_of(group(OURS, REFUSED), ValueError) is OURS


@pytest.mark.parametrize("error", [OURS, group(OURS), group(group(OURS), VALUE), group(DEFECT, OURS)])
def test_an_error_of_ours_is_reported_as_it_is_and_leaves_a_block_without_its_group(error):
    assert reported(error) is OURS
    with pytest.raises(CodeCompassError) as caught, collapse_groups():
        raise error
    assert caught.value is OURS


@pytest.mark.parametrize("error", [VALUE, group(VALUE), group(VALUE, KeyError("a"))])
def test_any_other_is_an_internal_error_that_names_it_and_leaves_a_block_unchanged(error):
    assert isinstance(reported(error), InternalError)
    assert reported(error).message == "ValueError: x"
    assert reported(error).__cause__ is error
    with pytest.raises(type(error)) as caught, collapse_groups():
        raise error
    assert caught.value is error


def test_an_interrupt_is_recognised_in_any_group():
    assert is_interrupt(KeyboardInterrupt())
    assert is_interrupt(group(VALUE, group(KeyboardInterrupt())))
    assert not is_interrupt(group(VALUE, OURS))


def test_an_interrupt_leaves_a_block_though_it_came_with_an_error_of_ours():
    interrupted = group(OURS, KeyboardInterrupt())

    with pytest.raises(BaseExceptionGroup) as caught, collapse_groups():
        raise interrupted
    assert caught.value is interrupted


# The modules.


def modules_with(is_meant: Callable[[ast.AST], bool]) -> set[str]:
    """Returns the modules of the program with such a node, as paths below the package."""
    return {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(is_meant(node) for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    }


@pytest.mark.invariant("Exception groups are taken apart in `errors.py` alone")
def test_no_other_module_takes_groups_apart():
    """Four did, each in its own way, and what one of them forgot cost the answer of all projects."""
    named = modules_with(lambda node: isinstance(node, ast.Name) and node.id in ("BaseExceptionGroup", "ExceptionGroup"))
    caught = modules_with(lambda node: isinstance(node, ast.TryStar))

    assert named == {"errors.py"}
    assert caught == {"actors/supervisor.py"}, "the restart boundary, which logs the whole group"


SUPERVISED = {"actors/supervisor.py", "actors/workspace.py"}
"""An incarnation of a workspace and what starts it again: only defects end them."""


def test_every_other_nursery_is_opened_by_the_helper():
    opened = modules_with(lambda node: isinstance(node, ast.Attribute) and node.attr == "open_nursery")

    assert opened == {"nurseries.py", *SUPERVISED}
