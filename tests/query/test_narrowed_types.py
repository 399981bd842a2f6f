"""What a receiver is where a condition, a callback, a type parameter or a later declaration says it."""

import pytest

from codecompass.protocol.requests import FindReferences, GetCallGraph, GetSymbolHierarchy
from codecompass.query import find_references, get_call_graph, get_symbol_hierarchy

TYPES = {
    ".py": "class Job:\n    def run(self): ...\nclass Other:\n    def run(self): ...\n",
    ".ts": "class Job { run() {} }\nclass Other { run() {} }\n",
    ".kt": "class Job { fun run() {} }\nclass Other { fun run() {} }\n",
    ".php": "<?php class Job { function run() {} }\nclass Other { function run() {} }\n",
    ".rb": "class Job\n  def run; end\nend\nclass Other\n  def run; end\nend\n",
    ".go": "package a\ntype Job struct{}\nfunc (j Job) Run() {}\ntype Other struct{}\nfunc (o Other) Run() {}\n",
    ".rs": "pub struct Job;\nimpl Job { pub fn run(&self) {} }\npub struct Other;\nimpl Other { pub fn run(&self) {} }\n",
}

CASES = {
    "python, to the end of the block": (
        ".py",
        "def go(x):\n    if isinstance(x, Job):\n        x.run()  #!\n    x.run()\n",
    ),
    "python, after a block that leaves": (
        ".py",
        "def go(x):\n    if not isinstance(x, Job):\n        return x.run()\n    x.run()  #!\n    if x:\n        x.run()  #!\n",
    ),
    "python, a member and one of several types": (
        ".py",
        "class User:\n    def go(self):\n        if isinstance(self.x, (Job, int)) and self.x.run():  #!\n"
        "            return self.x.run()  #!\n",
    ),
    "python, an assertion": (".py", "def go(x):\n    x.run()\n    assert isinstance(x, Job)\n    x.run()  #!\n"),
    "python, the last declaration before the use": (
        ".py",
        "def go():\n    x = Other()\n    x.run()\n    x = Job()\n    x.run()  #!\n",
    ),
    "typescript, the other branch is not meant": (
        ".ts",
        "function go(x: unknown) {\n  if (x instanceof Job) {\n    x.run() //!\n  } else {\n    x.run()\n  }\n}\n",
    ),
    "typescript, after a statement that leaves": (
        ".ts",
        "function go(x: unknown) {\n  if (!(x instanceof Job)) throw x\n  x.run() //!\n}\n",
    ),
    "typescript, callbacks of one parameter name": (
        ".ts",
        "function go(jobs: Job[], others: Other[]) {\n  others.map(x => x.run())\n"
        "  jobs.forEach(async (x) => {\n    x.run() //!\n  })\n}\n",
    ),
    "typescript, a type parameter": (".ts", "function go<T extends Job>(x: T) {\n  x.run() //!\n}\n"),
    "typescript, members of a parameter": (
        ".ts",
        "interface Props { job: Job; other: Other }\nfunction View({ job, other: second }: Props) {\n"
        "  job.run() //!\n  second.run()\n}\n",
    ),
    "typescript, a type of another with fewer members": (
        ".ts",
        "interface All { job: Job }\ninterface Some extends Omit<Required<All>, 'x'> { y: number }\nfunction go(some: Some) {\n"
        "  some.job.run() //!\n}\n",
    ),
    "kotlin, a case of a choice": (
        ".kt",
        "fun go(x: Any) {\n  when (x) {\n    is Job -> x.run() //!\n    is Other -> x.run()\n  }\n  if (x !is Job) return\n"
        "  x.run() //!\n}\n",
    ),
    "php": (".php", "function go($x) {\n  if ($x instanceof Job) {\n    $x->run(); //!\n  }\n}\n"),
    "ruby, a variable of the instance": (
        ".rb",
        "class User\n  def initialize\n    @job = Job.new\n  end\n  def go(x)\n    @job.run #!\n    x.run if x.is_a?(Other)\n"
        "  end\nend\n",
    ),
    "go, results and cases": (
        ".go",
        "func pair() (Other, *Job, error) { return Other{}, nil, nil }\nfunc Go(x any) {\n\ta, b, _ := pair()\n\ta.Run()\n"
        "\tb.Run() //!\n"
        "\tswitch c := x.(type) {\n\tcase Other:\n\t\tc.Run()\n\tcase *Job:\n\t\tc.Run() //!\n\t}\n}\n",
    ),
    "go, results with names and rows of a table": (
        ".go",
        "func Go(x int) (job *Job, err error) {\n\tjob.Run() //!\n\trows := []struct{ Run func() }{}\n"
        "\tfor _, row := range rows {\n\t\trow.Run()\n\t}\n\treturn\n}\nvar Late = func(job Job) {\n\tjob.Run() //!\n}\n",
    ),
    "typescript, a chain of calls": (
        ".ts",
        "class Made { add(x: number): this { return this } set(x: number): this { return this }\n"
        "  make(): Job { return new Job() } }\n"
        "function go(made: Made) {\n  made.add(1).add(2).add(3).add(4).set(1).set(2).add(5).add(6).set(3).make().run() //!\n}\n",
    ),
    "python, what a generic type from outside holds": (
        ".py",
        "from contextvars import ContextVar\ncurrent: ContextVar[Job] = ContextVar('x')\ndef go():\n"
        "    current.get().run()  #!\n",
    ),
    "rust, fields with numbers and shadowing": (
        ".rs",
        "pub struct Pair(pub Other, Job);\npub fn go(pair: &Pair) {\n    pair.0.run();\n    pair.1.run(); //!\n"
        "    let x = Other;\n    let x = Job;\n    x.run(); //!\n}\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_receiver_is_what_is_known_at_its_place(case, index_of, state):
    ending, text = CASES[case]
    whole = TYPES[ending] + text
    wanted = [number for number, line in enumerate(whole.split("\n"), 1) if line.endswith(("#!", "//!"))]
    name = {".go": "Job.Run", ".rs": "Job::run"}.get(ending, "Job.run")
    path = "src/lib.rs" if ending == ".rs" else f"a{ending}"

    reply = find_references(index_of({path: whole}), FindReferences(symbol_name=name, confidence="exact"), state)

    assert [each.line_start for each in reply.references] == wanted


def test_a_type_or_constant_before_an_arrow_is_no_parameter(index_of, state):
    files = {
        "A.java": (
            "enum Color { RED, BLUE }\nclass A {\n  int go(Color c) {\n    return switch (c) {\n      case RED -> 1;\n"
            "      case BLUE -> 2;\n    };\n  }\n}\n"
        ),
        "B.cs": (
            "class Job { public static int Run() => 1; }\nclass B {\n  int Go(object x) => x switch {\n    Job => Job.Run(),\n"
            "    _ => 0,\n  };\n}\n"
        ),
    }
    snapshot = index_of(files)

    def lines(name):
        return [each.line_start for each in find_references(snapshot, FindReferences(symbol_name=name), state).references]

    assert (lines("Color.RED"), lines("Job.Run"), lines("Job")) == ([5], [4], [4])


def test_what_a_module_exports_as_an_object_is_no_definition_of_that_name(index_of, state):
    snapshot = index_of(
        {
            "src/core.ts": "export function one() {}\n",
            "src/index.ts": "import * as z from './core'\nexport { z }\n",
            "src/other.ts": "const z = { one() {} }\n",
            "src/user.ts": "import { z } from './index'\nz.one()\n",
        }
    )

    reply = find_references(snapshot, FindReferences(symbol_name="core.one", confidence="exact"), state)

    assert [(each.path, each.line_start) for each in reply.references] == [("src/user.ts", 2)]


def test_a_member_that_an_initializer_sets_is_a_use_of_the_one_that_its_type_declares(index_of, state):
    text = (
        "interface Maker<T> { new(): T }\n"
        "declare function Maker<T>(name: string, set: (made: T) => void): Maker<T>\n"
        "interface Shape { min(n: number): this }\n"
        'const Shape: Maker<Shape> = Maker("Shape", (inst) => {\n'
        "  inst.min = (n) => inst\n"
        "})\n"
        "interface Runner { cancel?: () => void }\n"
        "function start(runner: Runner, other) {\n"
        "  runner.cancel = () => {}\n"
        "  other.cancel = () => {}\n"
        "}\n"
    )
    snapshot = index_of({"a.ts": text})

    def lines(name):
        found = find_references(snapshot, FindReferences(symbol_name=name, confidence="exact"), state)
        return [(each.line_start, each.role) for each in found.references]

    assert (lines("Shape.min"), lines("Runner.cancel")) == ([(5, "write")], [(9, "write")])


def test_callers_of_a_type_run_it_and_a_change_affects_those_that_name_it(index_of, state):
    snapshot = index_of(
        {
            "a.py": "class Job: ...\nclass Plain: ...\ndef make():\n    return Job()\ndef take(job: Job, plain: Plain): ...\n",
        }
    )

    def callers(name, direction):
        reply = get_call_graph(snapshot, GetCallGraph(symbol_name=name, direction=direction, depth=1), state)
        return sorted(node.name for node in reply.nodes if node.distance)

    assert callers("Job", "callers") == ["make"]
    assert callers("Job", "impact") == ["make", "take"]
    assert callers("Plain", "callers") == ["take"]


GO = """\
package a
type Printer interface {
	Print(text string) (int, error)
}
type Paper struct{}
func (p *Paper) Print(text string) (n int, err error) { return 0, nil }
type Screen struct{}
func (s *Screen) Print(text string, color int) {}
func Use(p Printer) { p.Print("x") }
"""


def test_a_type_of_go_implements_an_interface_whose_methods_take_as_many_arguments(index_of, state):
    snapshot = index_of({"a.go": GO})

    reply = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="Printer", relation="subtypes"), state)
    assert [each.name for each in reply.symbols] == ["Printer", "Paper"]

    changed = get_call_graph(snapshot, GetCallGraph(symbol_name="Paper.Print", direction="impact", depth=1), state)
    assert [node.name for node in changed.nodes if node.distance] == ["Use"]


def test_an_implementation_for_all_types_or_for_a_type_from_outside_is_no_subtype(index_of, state):
    snapshot = index_of(
        {
            "src/lib.rs": "use std::process::Child as Process;\npub trait Wait {}\npub mod process { pub struct Child; }\n"
            "pub struct T;\npub struct Own<T>(T);\nimpl<T: Wait> Wait for &mut T {}\nimpl<T> Wait for T {}\n"
            "impl Wait for Process {}\nimpl<T> Wait for Own<T> {}\n",
        }
    )

    reply = get_symbol_hierarchy(snapshot, GetSymbolHierarchy(symbol_name="Wait", relation="subtypes"), state)

    assert [each.name for each in reply.symbols] == ["Wait", "Own"]


def test_calls_with_type_arguments_and_of_macros_in_any_brackets_are_calls(index_of, state):
    snapshot = index_of(
        {
            "a.go": 'package a\nfunc Get[T any](name string) T { var t T; return t }\nfunc Use() { Get[int]("x") }\n',
            "src/lib.rs": "macro_rules! list { () => {} }\nfn go() { list! { 1 } }\n",
        }
    )

    def roles(name):
        return [each.role for each in find_references(snapshot, FindReferences(symbol_name=name), state).references]

    assert (roles("Get"), roles("list")) == (["call"], ["call"])
