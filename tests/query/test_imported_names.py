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
