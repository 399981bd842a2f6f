"""`find_references` through imports: the names under which a definition is known elsewhere, in each language."""

import pytest

from codecompass.protocol.requests import FindReferences
from codecompass.query import find_references


@pytest.fixture(scope="session")
def lines_of(index_of, state):
    """Returns the lines, in order and without imports, that use a definition, for files given as {path: text}."""

    def asked(files, symbol_name, path=None, confidence="likely"):
        request = FindReferences(symbol_name=symbol_name, path=path, confidence=confidence, limit=100)
        reply = find_references(index_of(files), request, state)
        return [f"{each.path}:{each.line_start}" for each in reply.references if each.role != "import"]

    return asked


DEFAULT_USERS = {
    "idx2.ts": 'export { default } from "./a";\n',
    "index.ts": 'export { default as ReA } from "./a";\n',
    "u1.ts": 'import direct from "./a";\nexport function u1() { return direct(); }\n',
    "u2.ts": 'import defA from "./a";\nexport function u2() { return defA(); }\n',
    "u3.ts": 'import { ReA } from "./index";\nexport function u3() { return ReA(); }\n',
    "u4.ts": 'import * as all from "./a";\nexport function u4() { return all.default(); }\n',
    "u5.ts": 'import Z from "./idx2";\nexport function u5() { return Z(); }\n',
    "u6.ts": 'import { default as Q } from "./a";\nexport function u6() { return Q(); }\n',
    "u7.ts": 'import { ReA as R } from ".";\nexport const u7 = () => R();\n',
    "u8.ts": 'import * as ns from ".";\nexport function u8() { return ns.ReA(); }\n',
    "u9.ts": 'import direct from "./other";\nexport function u9() { return direct(); }\n',
    "other.ts": "export default function other() {}\n",
}


@pytest.mark.parametrize(
    "module",
    [
        "export default function defA() { return 1; }\n",
        "function defA() { return 1; }\nexport default defA;\n",
        "const defA = () => 1;\nexport { defA as default };\n",
        "export default class defA {}\n",
        "const defA = 1;\nexport default defA;\n",
    ],
)
def test_a_default_export_is_found_under_every_name_that_it_is_imported_by(lines_of, module):
    lines = lines_of({**DEFAULT_USERS, "a.ts": module}, "defA")

    users = [line for line in lines if not line.startswith("a.ts:")]
    assert users == ["u1.ts:2", "u2.ts:2", "u3.ts:2", "u4.ts:2", "u5.ts:2", "u6.ts:2", "u7.ts:2", "u8.ts:2"]


def test_a_method_is_found_through_a_default_import_under_another_name(lines_of):
    files = {
        "store.ts": "export default class Store {\n  save() {}\n}\n",
        "index.ts": 'export { default as Shop } from "./store";\n',
        "use.ts": 'import S from "./store";\nimport { Shop } from ".";\nnew S().save();\nnew Shop().save();\n',
        "other.ts": "export class Other {\n  save() {}\n}\n",
    }

    assert lines_of(files, "Store.save", confidence="exact") == ["use.ts:3", "use.ts:4"]


@pytest.mark.parametrize(
    "export",
    [
        "export default memo(Panel);",
        "export default React.memo(Panel, same);",
        "export default React.forwardRef(Panel);",
        "export default connect(state => ({ name: state.name }), { same })(Panel);",
        "export default withRouter(connect(same)(Panel));",
        "export default compose(withRouter, connect(same))(Panel);",
        "export default (memo(Panel));",
        "module.exports = memo(Panel);",
    ],
)
@pytest.mark.parametrize("ending", ["tsx", "js"])
def test_a_default_export_of_a_wrapped_component_is_the_component(lines_of, export, ending):
    files = {
        f"panel.{ending}": f"function same() {{}}\nfunction Panel() {{ return null; }}\n{export}\n",
        f"index.{ending}": 'export { default as Shown } from "./panel";\n',
        f"use.{ending}": 'import Pane from "./panel";\nexport const Page = () => <Pane />;\n',
        f"other.{ending}": 'import { Shown } from ".";\nexport const Other = () => <Shown />;\n',
        f"third.{ending}": 'import Panel from "./else";\nexport const Third = () => <Panel />;\n',
        f"else.{ending}": "export default function Panel() {}\n",
    }

    lines = lines_of(files, "panel.Panel", confidence="exact")

    assert lines == [f"other.{ending}:2", f"panel.{ending}:3", f"use.{ending}:2"]


def test_the_function_that_a_default_export_wraps_is_what_is_imported(lines_of):
    files = {
        "panel.tsx": "export default memo(forwardRef<Div, Props>(function Panel(props, ref) { return null; }));\n",
        "use.tsx": 'import Pane from "./panel";\nexport const Page = () => <Pane />;\n',
    }

    assert lines_of(files, "Panel", confidence="exact") == ["use.tsx:2"]


def test_what_a_call_makes_of_its_arguments_is_not_one_of_them(lines_of):
    files = {
        "routes.ts": "const Options = {};\nexport default createRouter(Options);\n",
        "tool.ts": "const options = {};\nexport default configured(1)(options);\n",
        "use.ts": 'import routes from "./routes";\nimport tool from "./tool";\nroutes();\ntool();\n',
    }

    assert lines_of(files, "Options") == ["routes.ts:2"]
    assert lines_of(files, "options") == ["tool.ts:2"]


def test_what_module_exports_is_assigned_is_found_under_the_name_that_a_require_gives(lines_of):
    files = {
        "lib/app.js": "exports = module.exports = create;\nfunction create() {}\n",
        "lib/log.js": "function write() {}\nmodule.exports = { log: write };\n",
        "index.js": "module.exports = require('./lib/app');\n",
        "use.js": (
            "const make = require('./lib/app');\nconst whole = require('.');\nconst { log } = require('./lib/log');\n"
            "const logs = require('./lib/log');\nmake();\nwhole();\nlog();\nlogs.log();\n"
        ),
    }

    assert lines_of(files, "create") == ["lib/app.js:1", "use.js:5", "use.js:6"]
    assert lines_of(files, "write") == ["lib/log.js:2", "use.js:7", "use.js:8"]


def test_a_renamed_export_is_found_in_a_chain_of_modules(lines_of):
    files = {
        "src/a.ts": "function inner() {}\nexport { inner as outer };\n",
        "src/b.ts": 'export { outer as shown } from "./a";\n',
        "src/c.ts": 'export * from "./b";\n',
        "src/d.ts": 'import { shown } from "./c";\nexport { shown as last };\n',
        "use.ts": 'import { last as l } from "./src/d";\nimport * as c from "./src/c";\nl();\nc.shown();\n',
    }

    assert [line for line in lines_of(files, "inner") if line.startswith("use")] == ["use.ts:3", "use.ts:4"]


PYTHON = {
    "acme/__init__.py": "from .m import topf as shown\n",
    "acme/m.py": "def topf(): pass\n\nclass Box:\n    def lift(self): ...\n",
    "acme/deep/__init__.py": "",
    "acme/deep/n.py": "def topf(): pass\ndef low(): pass\n",
    "space/inner/k.py": "def ink(): pass\n",
    "use1.py": "import acme.m\ndef w():\n    acme.m.topf()\n    acme.m.Box().lift()\n",
    "use2.py": "import acme.m as q\ndef w():\n    q.topf()\n    q.Box().lift()\n",
    "use3.py": "import acme\ndef w():\n    acme.m.topf()\n    acme.shown()\n",
    "use4.py": "from acme import shown as s\ns()\n",
    "use5.py": "from acme import shown\nshown()\n",
    "use6.py": "import acme.deep.n\nimport acme.m\nacme.deep.n.low()\nacme.deep.n.topf()\nacme.m.topf()\n",
    "use7.py": "import space.inner.k\nspace.inner.k.ink()\n",
}


def test_a_name_of_python_is_found_behind_the_packages_that_an_import_names(lines_of):
    expected = ["use1.py:3", "use2.py:3", "use3.py:3", "use3.py:4", "use4.py:2", "use5.py:2", "use6.py:5"]
    assert lines_of(PYTHON, "acme.m.topf", confidence="exact") == expected
    assert lines_of(PYTHON, "acme.deep.n.topf", confidence="exact") == ["use6.py:4"]
    assert lines_of(PYTHON, "low", confidence="exact") == ["use6.py:3"]
    assert lines_of(PYTHON, "lift", confidence="exact") == ["use1.py:4", "use2.py:4"]
    assert lines_of(PYTHON, "ink", confidence="exact") == ["use7.py:2"]


KOTLIN_MAIN = (
    "package com.acme.app\n"
    "import com.acme.util.helperFn\n"
    "import com.acme.util.Reg\n"
    "import com.acme.util.Svc as S\n"
    "import com.acme.util.shoutIt\n"
    "import com.acme.util.loud as l\n"
    "fun main(s: String) {\n"
    "    helperFn()\n"
    "    Reg.find()\n"
    "    S().act()\n"
    '    "x".shoutIt()\n'
    "    s.l()\n"
    "    S.make()\n"
    "}\n"
)
KOTLIN_UTIL = (
    "package com.acme.util\n"
    "fun helperFn() = 1\n"
    "object Reg { fun find() = 2 }\n"
    "class Svc { fun act() {}\n"
    "    companion object { fun make() = Svc() } }\n"
    "fun String.shoutIt() = this\n"
    "fun <T> T.loud() = this\n"
)


@pytest.mark.parametrize(
    ("main", "util"),
    [
        ("src/app/Main.kt", "src/util/Helpers.kt"),
        ("src/main/kotlin/com/acme/app/Main.kt", "src/main/kotlin/com/acme/util/Helpers.kt"),
        ("Main.kt", "Helpers.kt"),
        ("app/Main.kt", "elsewhere/at/all/Helpers.kt"),
    ],
)
def test_kotlin_is_bound_by_the_packages_that_files_declare_wherever_they_are(lines_of, main, util):
    files = {
        main: KOTLIN_MAIN,
        util: KOTLIN_UTIL,
        "other/Other.kt": "package com.other\nfun helperFn() = 2\nfun String.shoutIt() = 1\n",
    }

    expected = {"helperFn": 8, "find": 9, "act": 10, "shoutIt": 11, "loud": 12, "make": 13}
    for name, line in expected.items():
        assert lines_of(files, f"com.acme.util.{name}" if name in ("helperFn", "shoutIt") else name) == [f"{main}:{line}"], name
    assert lines_of(files, "com.other.helperFn") == []
    assert lines_of(files, "com.other.shoutIt") == []


def test_kotlin_sees_its_own_package_and_all_of_an_imported_one_in_any_directory(lines_of):
    files = {
        "a/One.kt": "package com.acme.util\nfun one() = 1\nfun String.ext() = 1\nclass Box\n",
        "b/Two.kt": "package com.acme.util\nfun two(b: Box) = one()\n",
        "c/Three.kt": 'package com.acme.app\nimport com.acme.util.*\nfun three(b: Box) = one() + "".ext()\n',
        "c/Four.kt": "package com.other\nfun one() = 2\nclass Box\n",
    }

    assert lines_of(files, "com.acme.util.one") == ["b/Two.kt:2", "c/Three.kt:3"]
    assert lines_of(files, "com.acme.util.Box") == ["b/Two.kt:2", "c/Three.kt:3"]
    assert lines_of(files, "com.acme.util.ext") == ["c/Three.kt:3"]
    assert lines_of(files, "com.other.one") == []
    assert lines_of(files, "com.other.Box") == []


def test_an_extension_function_of_another_type_is_not_meant(lines_of):
    files = {
        "a/One.kt": "package a\nclass Box\nclass Can\nfun Box.unlock() = 1\n",
        "b/Two.kt": (
            "package b\nimport a.Box\nimport a.Can\nimport a.unlock\n"
            "fun two(box: Box, can: Can) {\n    box.unlock()\n    can.unlock()\n}\n"
        ),
    }

    assert lines_of(files, "unlock") == ["b/Two.kt:6"]


def test_what_an_extension_function_returns_is_a_receiver(lines_of):
    files = {
        "a/One.kt": "package a\nclass Box { fun shut() = 1 }\nclass Can { fun shut() = 2 }\nfun Box.unlock(): Can = Can()\n",
        "b/Two.kt": "package b\nimport a.Box\nimport a.unlock\nfun two(box: Box) {\n    box.unlock().shut()\n}\n",
    }

    assert lines_of(files, "Can.shut", confidence="exact") == ["b/Two.kt:5"]


PHP_USER = (
    "<?php\n"
    "namespace App\\Http;\n"
    "use App\\Models\\RepoQ;\n"
    "use App\\Models\\RepoQ as RQ;\n"
    "use function App\\Models\\helpq;\n"
    "use App\\Models\\{RepoR, RepoS as RS};\n"
    "class UseIt {\n"
    "  private RepoQ $prop;\n"
    "  public function __construct(private RepoQ $repo, private RQ $arepo) {}\n"
    "  public function a() { return $this->repo->loadq(2); }\n"
    "  public function b() { RepoQ::bootq(); }\n"
    "  public function c() { RQ::bootq2(); }\n"
    "  public function d() { return $this->arepo->cbq(); }\n"
    "  public function e() { return $this->prop->savq(); }\n"
    "  public function f() { return helpq(); }\n"
    "  public function g() { RepoR::goR(); RS::goS(); }\n"
    "  public function h() { \\App\\Models\\RepoR::direct(); }\n"
    "}\n"
)
PHP_MODELS = (
    "<?php\n"
    "namespace App\\Models;\n"
    "class RepoQ { public function loadq($id) {} public static function bootq() {} public function cbq() {}\n"
    "  public static function bootq2() {} public function savq() {} }\n"
    "class RepoR { public static function goR() {} public static function direct() {} }\n"
    "class RepoS { public static function goS() {} }\n"
    "function helpq() {}\n"
)


@pytest.mark.parametrize(
    ("user", "models"),
    [("src/Http/UseIt.php", "src/Models/RepoQ.php"), ("UseIt.php", "RepoQ.php"), ("a/UseIt.php", "lib/all.inc.php")],
)
def test_php_is_bound_by_namespaces_without_a_composer_map(lines_of, user, models):
    files = {user: PHP_USER, models: PHP_MODELS, "x/Other.php": "<?php\nnamespace Other;\nclass RepoQ { function loadq() {} }\n"}

    expected = {"loadq": 10, "bootq": 11, "bootq2": 12, "cbq": 13, "savq": 14, "helpq": 15, "goR": 16, "goS": 16, "direct": 17}
    for name, line in expected.items():
        symbol = f"App\\Models\\RepoQ::{name}" if name == "loadq" else name
        assert lines_of(files, symbol, confidence="exact") == [f"{user}:{line}"], name
    assert lines_of(files, "Other\\RepoQ::loadq") == []


@pytest.mark.parametrize(("user", "util"), [("app/Main.java", "code/Helper.java"), ("Main.java", "x/y/Helper.java")])
def test_java_is_bound_by_packages_wherever_the_files_are(lines_of, user, util):
    files = {
        user: (
            "package com.acme.app;\n"
            "import com.acme.util.Helper;\n"
            "import com.acme.all.*;\n"
            "import static com.acme.util.Helper.help;\n"
            "class Main {\n"
            "  void go(Helper h, Whole w) {\n"
            "    Helper.stat();\n"
            "    h.run();\n"
            "    help();\n"
            "    w.part();\n"
            "    new Helper.Inner().in();\n"
            "  }\n"
            "}\n"
        ),
        util: (
            "package com.acme.util;\npublic class Helper {\n  static int help() { return 1; }\n  static void stat() {}\n"
            "  void run() {}\n  static class Inner { void in() {} }\n}\n"
        ),
        "z/Whole.java": "package com.acme.all;\npublic class Whole { void part() {} }\n",
        "o/Helper.java": "package org.other;\npublic class Helper { void run() {} static int help() { return 1; } }\n",
        "o/Whole.java": "package org.other;\npublic class Whole { void part() {} }\n",
    }

    for name, line in {"Helper.stat": 7, "Helper.run": 8, "Helper.help": 9, "Inner.in": 11}.items():
        assert lines_of(files, f"com.acme.util.{name}" if "Inner" not in name else "in", confidence="exact") == [f"{user}:{line}"]
    assert lines_of(files, "com.acme.all.Whole.part", confidence="exact") == [f"{user}:10"]
    assert lines_of(files, "org.other.Helper.run") == []
    assert lines_of(files, "org.other.Whole.part") == []


def test_scala_is_bound_by_packages_and_objects_wherever_the_files_are(lines_of):
    files = {
        "a/Main.scala": (
            "package com.acme.app\n"
            "import com.acme.util.{Tools, Work => W}\n"
            "import com.acme.util.Tools.fix\n"
            "import com.acme.all._\n"
            "object Main {\n"
            "  def go(w: W, o: Whole) = {\n"
            "    Tools.mend()\n"
            "    w.doIt()\n"
            "    fix()\n"
            "    o.part()\n"
            "  }\n"
            "}\n"
        ),
        "b/x.scala": (
            "package com.acme.util\nobject Tools { def fix(): Int = 1\n  def mend(): Int = 1 }\n"
            "class Work { def doIt(): Unit = {} }\n"
        ),
        "c/y.scala": "package com.acme.all\nclass Whole { def part() = 1 }\n",
        "d/z.scala": "package org.other\nclass Whole { def part() = 1 }\nclass Work { def doIt() = 1 }\n",
    }

    for name, line in {"mend": 7, "com.acme.util.Work.doIt": 8, "fix": 9, "com.acme.all.Whole.part": 10}.items():
        assert lines_of(files, name, confidence="exact") == [f"a/Main.scala:{line}"], name
    assert lines_of(files, "org.other.Work.doIt") == []


SCALA_EXTENSIONS = """\
package acme.lib
class Job
class Special extends Job
class Other
object Job:
  extension (job: Job) def inside: Int = 1
extension (job: Job)
  def start(n: Int): Int = job.stop
  def stop: Int = 2
extension (s: String) def shout: String = s.toUpperCase
extension [T](x: T) def logged: T = x
object Syntax:
  extension (job: Job) def again(): Job = job
"""
SCALA_USER = """\
package acme.app
import acme.lib.{Job, Special, Other, shout, start as begin}
import acme.lib.stop
import acme.lib.logged
import acme.lib.Syntax.*
class User:
  def go(job: Job, special: Special, other: Other, text: String): Int =
    job.begin(1)
    special.begin(2)
    other.begin(3)
    job.stop
    text.shout
    "x".shout
    other.logged
    job.inside
    job.again().stop
"""


def test_an_extension_of_scala_is_a_member_of_the_values_of_its_type_where_it_is_visible(lines_of):
    files = {
        "a/Lib.scala": SCALA_EXTENSIONS,
        "b/User.scala": SCALA_USER,
        "c/Same.scala": "package acme.lib\ndef same(job: Job) = job.start(1)\n",
        "d/Else.scala": "package org.other\nclass Job\nextension (job: Job)\n  def start(n: Int) = n\n  def stop = 1\n",
        "e/None.scala": "package acme.third\nimport acme.lib.Job\ndef none(job: Job) = job.start(1)\n",
    }

    expected = {
        "acme.lib.Job.start": ["b/User.scala:8", "b/User.scala:9", "c/Same.scala:2"],
        "acme.lib.Job.stop": ["a/Lib.scala:8", "b/User.scala:11", "b/User.scala:16"],
        "shout": ["b/User.scala:12", "b/User.scala:13"],
        "logged": ["b/User.scala:14"],
        "inside": ["b/User.scala:15"],
        "again": ["b/User.scala:16"],
        "org.other.Job.start": [],
    }
    assert {name: lines_of(files, name, confidence="exact") for name in expected} == expected


def test_csharp_is_bound_by_namespaces_wherever_the_files_are(lines_of):
    files = {
        "one/Main.cs": (
            "using Acme.Util;\n"
            "using H = Acme.Deep.Helper;\n"
            "using static Acme.Util.Maths;\n"
            "namespace Acme.App {\n"
            "  class Main {\n"
            "    void Go(Box b, H h) {\n"
            "      b.Open();\n"
            "      h.Help();\n"
            "      Twice(1);\n"
            '      "x".Shout();\n'
            "    }\n"
            "  }\n"
            "}\n"
        ),
        "two/Things.cs": (
            "namespace Acme.Util;\npublic class Box { public void Open() {} }\n"
            "public static class Maths { public static int Twice(int n) { return n; } }\n"
            "public static class Ext { public static string Shout(this string s) { return s; } }\n"
        ),
        "two/Deep.cs": "namespace Acme.Deep { public class Helper { public void Help() {} } }\n",
        "one/Other.cs": (
            "namespace Other { public class Box { public void Open() {} } public class Helper { public void Help() {} } }\n"
        ),
    }

    for name, line in {"Acme.Util.Box.Open": 7, "Acme.Deep.Helper.Help": 8, "Twice": 9, "Shout": 10}.items():
        assert lines_of(files, name, confidence="exact") == [f"one/Main.cs:{line}"], name
    assert lines_of(files, "Other.Box.Open") == []
    assert lines_of(files, "Other.Helper.Help") == []


def test_elixir_is_bound_by_modules_wherever_the_files_are(lines_of):
    files = {
        "x/main.ex": (
            "defmodule MyApp.Main do\n"
            "  alias MyApp.Foo.Bar\n"
            "  alias MyApp.Foo.Baz, as: B\n"
            "  alias MyApp.Foo.{One, Two}\n"
            "  import MyApp.Foo.All\n"
            "  def go do\n"
            "    Bar.run(1)\n"
            "    B.jog(1)\n"
            "    One.one(1)\n"
            "    Two.two(1)\n"
            "    every(1)\n"
            "    MyApp.Foo.Bar.full(1)\n"
            "  end\n"
            "end\n"
        ),
        "y/misc.ex": (
            "defmodule MyApp.Foo.Bar do\n  def run(x), do: x\n  def full(x), do: x\nend\n"
            "defmodule MyApp.Foo.Baz do\n  def jog(x), do: x\nend\n"
            "defmodule MyApp.Foo.One do\n  def one(x), do: x\nend\n"
            "defmodule MyApp.Foo.Two do\n  def two(x), do: x\nend\n"
            "defmodule MyApp.Foo.All do\n  def every(x), do: x\nend\n"
        ),
        "z/other.ex": "defmodule Other.Bar do\n  def run(x), do: x\nend\n",
    }

    for name, line in {"MyApp.Foo.Bar.run": 7, "jog": 8, "one": 9, "two": 10, "every": 11, "full": 12}.items():
        assert lines_of(files, name, confidence="exact") == [f"x/main.ex:{line}"], name
    assert lines_of(files, "Other.Bar.run") == []


def test_haskell_is_bound_by_modules_wherever_the_files_are(lines_of):
    files = {
        "x/Main.hs": (
            "module Main where\n"
            "import Acme.Foo\n"
            "import qualified Acme.Bar as B\n"
            "import Acme.Baz (only)\n"
            "main :: IO ()\n"
            "main = do\n"
            "  print (help 1)\n"
            "  print (B.aid 1)\n"
            "  print (only 1)\n"
        ),
        "y/a.hs": "module Acme.Foo where\nhelp :: Int -> Int\nhelp x = x\n",
        "y/b.hs": "module Acme.Bar where\naid :: Int -> Int\naid x = x\n",
        "y/c.hs": "module Acme.Baz where\nonly :: Int -> Int\nonly x = x\n",
        "y/d.hs": "module Acme.Other where\nhelp :: Int -> Int\nhelp x = x\naid :: Int -> Int\naid x = x\n",
    }

    for name, line in {"Acme.Foo.help": 7, "Acme.Bar.aid": 8, "only": 9}.items():
        assert lines_of(files, name, confidence="exact") == [f"x/Main.hs:{line}"], name
    assert lines_of(files, "Acme.Other.help") == []
    assert lines_of(files, "Acme.Other.aid") == []


def test_a_module_of_rust_at_a_written_path_is_found_by_its_name(lines_of):
    files = {
        "Cargo.toml": '[package]\nname = "app"\n',
        "src/lib.rs": (
            '#[path = "imp/unix.rs"]\nmod sys;\npub mod user;\npub fn here() {\n    sys::open();\n    crate::sys::open();\n}\n'
        ),
        "src/imp/unix.rs": "pub fn open() {}\npub struct Handle;\nimpl Handle {\n    pub fn shut(&self) {}\n}\n",
        "src/user.rs": (
            "use crate::sys::{self, open, Handle};\nuse crate::sys::open as unlock;\n"
            "pub fn user(h: &Handle) {\n    open();\n    sys::open();\n    unlock();\n    h.shut();\n    super::sys::open();\n}\n"
        ),
        "src/other.rs": "pub fn open() {}\n",
    }

    found = lines_of(files, "imp::unix::open")
    assert found == ["src/lib.rs:5", "src/lib.rs:6", "src/user.rs:4", "src/user.rs:5", "src/user.rs:6", "src/user.rs:8"]
    assert lines_of(files, "shut") == ["src/user.rs:7"]


def test_renamed_and_chained_re_exports_of_rust_are_followed(lines_of):
    files = {
        "Cargo.toml": '[package]\nname = "app"\n',
        "src/lib.rs": "mod inner;\nmod facade;\npub use facade::shown;\npub use inner::deep::Real as Public;\nmod user;\n",
        "src/inner/mod.rs": "pub mod deep;\n",
        "src/inner/deep.rs": "pub fn hidden() {}\npub struct Real;\nimpl Real {\n    pub fn make() {}\n}\n",
        "src/facade.rs": "pub use crate::inner::deep::hidden as shown;\n",
        "src/user.rs": (
            "use crate::shown;\nuse crate::Public;\nuse crate::facade;\nuse crate::shown as s;\n"
            "fn user() {\n    shown();\n    Public::make();\n    facade::shown();\n    s();\n    crate::shown();\n}\n"
        ),
    }

    assert lines_of(files, "hidden") == ["src/user.rs:6", "src/user.rs:8", "src/user.rs:9", "src/user.rs:10"]
    assert lines_of(files, "make", confidence="exact") == ["src/user.rs:7"]
    assert "src/user.rs:7" in lines_of(files, "Real")


@pytest.mark.parametrize(
    ("spec", "directory"),
    [
        ("example.com/acme/util", "util"),
        ("github.com/acme/shop/util", "util"),
        ("github.com/acme/shop/pkg/util", "pkg/util"),
        ("acme/util", "util"),
        ("acme/util", "src/acme/util"),
        ("github.com/acme/shop/util", "src/github.com/acme/shop/util"),
    ],
)
def test_a_package_of_go_is_found_without_a_module_file(lines_of, spec, directory):
    files = {
        f"{directory}/help.go": "package util\n\nfunc Help() int { return 1 }\n\ntype T struct{}\n\nfunc (t T) Act() {}\n",
        "cmd/main.go": (
            f'package main\n\nimport (\n\t"fmt"\n\tu "{spec}"\n)\n\n'
            "func main() {\n\tfmt.Println(u.Help())\n\tt := u.T{}\n\tt.Act()\n}\n"
        ),
        "other/help.go": "package other\n\nfunc Help() int { return 1 }\n",
        "fmt/print.go": "package fmt\n\nfunc Println(n int) {}\n",
    }

    assert lines_of(files, "util.Help", confidence="exact") == ["cmd/main.go:9"]
    assert lines_of(files, "Act", confidence="exact") == ["cmd/main.go:11"]
    assert lines_of(files, "other.Help") == []
    assert lines_of(files, "Println") == []


@pytest.mark.parametrize("path", ["scripts/acme/util.lua", "src/lua/acme/util.lua", "x/y/acme/util/init.lua"])
def test_a_module_of_lua_is_found_by_the_end_of_its_path(lines_of, path):
    files = {
        path: "local M = {}\nfunction M.go() end\nreturn M\n",
        "main.lua": 'local u = require("acme.util")\nu.go()\n',
        "other/util.lua": "local M = {}\nfunction M.go() end\nreturn M\n",
    }
    names = {"scripts/acme/util.lua": "scripts.acme.util.go", "src/lua/acme/util.lua": "acme.util.go"}

    assert lines_of(files, names.get(path, "x.y.acme.util.go")) == ["main.lua:2"]
    assert lines_of(files, "other.util.go") == []


LUA_MODULE = "local M = {}\nM.limit = 1\nfunction M.go() end\nfunction M:act() end\nreturn M\n"
LUA_USER = """\
require("acme.util").go()
require 'acme.util'.go()
require("acme.util"):act()
local util = require("acme.util")
util:act()
local function inner()
  local first, second = require("acme.other"), 1
  local deep = require("acme.util")
  deep.go()
  deep:act()
  require("acme.other").go(require("acme.util").limit)
  first.go(deep.limit)
  local ok, safe = pcall(require, "acme.util")
  return ok and safe.go()
end
map("n", function() require("acme.util").go() end)
require("else.where").go()
require(name).go()
"""


def test_a_member_of_what_require_returns_is_a_use_in_any_form(lines_of):
    files = {"acme/util.lua": LUA_MODULE, "acme/other.lua": LUA_MODULE, "main.lua": LUA_USER}

    assert lines_of(files, "acme.util.go", confidence="exact") == [f"main.lua:{line}" for line in (1, 2, 9, 14, 16)]
    assert lines_of(files, "acme.util.act", confidence="exact") == ["main.lua:3", "main.lua:5", "main.lua:10"]
    assert lines_of(files, "acme.other.go", confidence="exact") == ["main.lua:11", "main.lua:12"]
    assert lines_of(files, "acme.util.limit", confidence="exact") == ["main.lua:11", "main.lua:12"]


def test_a_call_of_what_require_returns_is_a_call_and_no_import(index_of, state):
    snapshot = index_of({"util.lua": LUA_MODULE, "main.lua": 'require("util").go()\nlocal go = require("util").go\n'})

    reply = find_references(snapshot, FindReferences(symbol_name="util.go"), state)

    assert [(each.line_start, each.role) for each in reply.references] == [(1, "call"), (2, "import")]


def test_constants_of_ruby_are_found_wherever_the_files_are(lines_of):
    files = {
        "a/things.rb": "module Acme\n  class Thing\n    def self.make; end\n    def act; end\n  end\nend\n",
        "b/deep.rb": "class Acme::Deep::Tool\n  def self.run; end\nend\n",
        "main.rb": (
            "Acme::Thing.make\nAcme::Thing.new.act\nAcme::Deep::Tool.run\n"
            "module Acme\n  class User\n    def go\n      Thing.make\n      t = Thing.new\n      t.act\n    end\n  end\nend\n"
        ),
        "o/other.rb": "module Other\n  class Thing\n    def self.make; end\n    def act; end\n  end\nend\n",
    }

    assert lines_of(files, "Acme::Thing.make", confidence="exact") == ["main.rb:1", "main.rb:7"]
    assert lines_of(files, "run", confidence="exact") == ["main.rb:3"]
    assert lines_of(files, "Other::Thing.make") == []


def test_a_module_of_swift_is_found_by_its_directory(lines_of):
    files = {
        "Sources/Util/deep/help.swift": (
            "public func help() {}\npublic class T {\n  public init() {}\n  public func act() {}\n}\n"
        ),
        "Sources/App/main.swift": "import Util\nfunc go() {\n  help()\n  Util.help()\n  let t = T()\n  t.act()\n}\n",
        "Sources/Util/same.swift": "func same() { help() }\n",
    }

    assert lines_of(files, "help") == ["Sources/App/main.swift:3", "Sources/App/main.swift:4", "Sources/Util/same.swift:1"]
    assert lines_of(files, "act") == ["Sources/App/main.swift:6"]


WORKSPACE = {
    "package.json": '{"name": "root", "workspaces": ["packages/*"]}',
    "packages/core/package.json": (
        '{"name": "@acme/core", "exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.mjs"},'
        ' "./tools/*": "./dist/tools/*.js", "./deep": {"default": "./src/hidden/deep.ts"}}, "imports": '
        '{"#inner/*": "./src/inner/*.ts"}}'
    ),
    "packages/core/src/index.ts": 'export { make as create } from "#inner/make";\nexport { default as Core } from "./core";\n',
    "packages/core/src/core.ts": "export default class Core {\n  start() {}\n}\n",
    "packages/core/src/inner/make.ts": "export function make() {}\n",
    "packages/core/src/tools/saw.ts": "export const saw = () => 1;\n",
    "packages/core/src/hidden/deep.ts": "export function dig() {}\n",
    "packages/app/package.json": '{"name": "app", "dependencies": {"@acme/core": "workspace:*"}}',
    "packages/app/src/main.ts": (
        'import { create, Core } from "@acme/core";\nimport { saw } from "@acme/core/tools/saw";\n'
        'import { dig } from "@acme/core/deep";\n'
        "create();\nnew Core().start();\nsaw();\ndig();\n"
    ),
}


def test_entries_and_private_imports_of_packages_of_a_workspace_are_followed(lines_of):
    for name, line in {"make": 4, "start": 5, "saw": 6, "dig": 7}.items():
        assert lines_of(WORKSPACE, name, confidence="exact") == [f"packages/app/src/main.ts:{line}"], name


def test_a_reference_to_another_project_leads_from_what_it_builds_to_its_source(lines_of):
    files = {
        "core/tsconfig.json": '{"compilerOptions": {"composite": true, "outDir": "dist", "rootDir": "src"}}',
        "core/src/util.ts": "export function util() {}\n",
        "core/src/index.ts": 'export * from "./util";\n',
        "app/tsconfig.json": '{"references": [{"path": "../core"}]}',
        "app/main.ts": (
            'import { util } from "../core/dist/util";\nimport { util as u } from "../core/dist/index.js";\nutil();\nu();\n'
        ),
    }

    assert lines_of(files, "util", confidence="exact") == ["app/main.ts:3", "app/main.ts:4"]


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ('import * as z from "./lib";', 'export * from "./external";\n'),
        ('import { z } from "./lib";', 'import * as z from "./external";\nexport { z };\n'),
        ('import z from "./lib";', 'import * as all from "./external";\nexport default all;\n'),
        ('import { z } from "./lib";', 'export * as z from "./external";\n'),
    ],
)
def test_a_namespace_that_a_module_exports_is_followed_to_the_definition(lines_of, statement, index):
    files = {
        "lib/index.ts": index,
        "lib/external.ts": 'export * as iso from "./iso";\nexport { time } from "./other";\n',
        "lib/iso.ts": "export function time() {}\n",
        "lib/other.ts": "export function time() {}\n",
        "use.ts": f"{statement}\nz.iso.time();\nz.time();\n",
    }

    assert lines_of(files, "lib.iso.time", confidence="exact") == ["use.ts:2"]
    assert lines_of(files, "lib.other.time", confidence="exact") == ["use.ts:3"]


def test_the_line_that_imports_a_definition_is_a_certain_use_of_it(index_of, state):
    snapshot = index_of({"app/Main.kt": KOTLIN_MAIN, "lib/Helpers.kt": KOTLIN_UTIL})

    for name, line in {"helperFn": 2, "Reg": 3, "Svc": 4, "shoutIt": 5, "loud": 6}.items():
        reply = find_references(snapshot, FindReferences(symbol_name=name), state)
        imports = [each for each in reply.references if each.role == "import"]
        assert [(each.path, each.line_start, each.confidence) for each in imports] == [("app/Main.kt", line, "exact")]
