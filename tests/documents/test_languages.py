"""The table of languages in the documents is what the modules of the languages say."""

import os
from pathlib import Path

from codecompass.languages.support import as_markdown

DOCUMENT = Path(__file__).parents[2] / "docs" / "indexing.md"
BEGIN, END = "<!-- languages -->\n", "<!-- end of languages -->"


def test_the_table_of_languages_is_that_of_the_modules():
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)

    expected = f"{before}{BEGIN}{as_markdown()}\n{END}{after}"

    if os.environ.get("UPDATE_GOLDEN"):
        DOCUMENT.write_text(expected, "utf-8")
    assert text == expected
