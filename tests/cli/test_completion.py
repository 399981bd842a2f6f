"""Completion with TAB in real shells."""

import shutil
import subprocess

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_valid_for_its_shell(cli, shell):
    script = cli("completion", shell)

    assert script.code == 0
    assert "_CODECOMPASS_COMPLETE" in script.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script.raw, check=True, env=cli.environment)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("codecompass sea", ["search"]),
        ("codecompass projects re", ["rename", "remove"]),
        ("codecompass search --mo", ["--mode"]),
        ("codecompass search --mode l", ["literal"]),
        ("codecompass locate --kind met", ["method"]),
        ("codecompass completion z", ["zsh"]),
    ],
)
def test_bash_completes_commands_options_and_values(cli, words, expected):
    code = (
        f"{cli('completion', 'bash').out}\n"
        f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()\n"
        '_codecompass_completion codecompass; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    done = subprocess.run(["bash", "-c", code], env=cli.environment, capture_output=True, text=True, check=True)

    assert done.stdout.split() == expected


def test_an_unknown_shell_is_wrong_usage(cli):
    unknown, none = cli("completion", "tcsh"), cli("completion")

    assert (unknown.code, none.code) == (2, 2)
    assert none.err.startswith("error: Missing argument 'SHELL'. Choose from: bash, zsh, fish\n")
