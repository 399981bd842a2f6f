from codecompass.languages.unspaced import has_letters, is_pair, pairs_of_run, pairs_of_text, words_beside
from codecompass.languages.words import WordSplitter, split_identifier


def test_a_run_gives_its_pairs_and_a_single_letter_itself():
    assert pairs_of_run("用户认证") == ["用户", "户认", "认证"]
    assert pairs_of_run("用户") == ["用户"]
    assert pairs_of_run("用") == ["用"]


def test_a_text_gives_each_pair_once_and_none_across_anything_else():
    assert pairs_of_text("用户。用户 x 认\n证 사용자를, ครั้ง") == " ".join(
        sorted({"用户", "사용", "용자", "자를", "คร", "รั", "ั้", "้ง"})
    )
    assert pairs_of_text("plain ASCII") == pairs_of_text("für déjà 用") == ""


def test_only_scripts_without_blanks_count():
    assert all(map(is_pair, ("用户", "エラ", "사용", "ระ", "ー々")))
    assert not any(map(is_pair, ("ab", "用", "用户认", "für", "ош", "用a", "。、")))
    assert has_letters("a 用")
    assert not has_letters("für ош …")


def test_identifiers_are_split_where_the_script_changes():
    assert split_identifier("get用户认证Name") == ["get", "用户", "户认", "认证", "name"]
    assert split_identifier("größe_用") == ["größe", "用"]
    assert split_identifier("เข้าระบบ") == ["เข", "ข้", "้า", "าร", "ระ", "ะบ", "บบ"]


def test_the_latin_words_of_such_text_are_parts_of_it():
    assert words_beside("使用Python编写 timeout 超时2次 ü用") == {"Python", "2", "ü"}
    assert WordSplitter().words_of_text("使用getName编写").parts.split() == ["get", "name"]
    assert WordSplitter().words_of_text("plain text").pairs == ""
