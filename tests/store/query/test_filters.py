"""Filters as people write them."""

import pytest

from codecompass.store.query.filters import languages_meant, path_pattern


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("*.py", ["a.py", "src/deep/a.py"], ["a.pyi", "py/a.rs"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "lib/src/a.py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py"]),
        ("src", ["src/a.py", "lib/src/b.rs", "src"], ["srcs/a.py"]),
        ("src/", ["src/a.py"], ["a/srcs.py"]),
        ("./src/auth", ["src/auth/jwt.rs"], ["x/src/auth/jwt.rs"]),
        ("/src/auth", ["src/auth/jwt.rs"], ["x/src/auth/jwt.rs"]),
        ("**/tests/**", ["tests/a.py", "a/tests/b/c.py"], ["tests.py"]),
        ("src\\auth\\*.rs", ["src/auth/jwt.rs"], ["src/jwt.rs"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js"]),
        ("file?.go", ["file1.go"], ["file.go", "file12.go"]),
        ("[ab].py", ["a.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("a+b(c).py", ["a+b(c).py"], ["aab(c).py"]),
        ("[", ["["], ["a"]),
    ],
)
def test_globs(glob, inside, outside):
    pattern = path_pattern(glob)

    assert all(pattern.fullmatch(path) for path in inside)
    assert not any(pattern.fullmatch(path) for path in outside)


def test_languages_go_by_their_common_names():
    assert languages_meant("C++") == ("cpp",)
    assert languages_meant("TypeScript") == ("typescript", "tsx")
    assert languages_meant(" rs ") == ("rust",)
    assert languages_meant("python") == ("python",)
    assert languages_meant(None) == ()
