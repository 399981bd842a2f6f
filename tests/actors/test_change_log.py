from codecompass.actors.watching.changes import ChangeLog


def covered_log() -> ChangeLog:
    log = ChangeLog()
    log.landed(log.take())
    return log


def test_a_tree_that_nobody_watched_is_not_current():
    log = ChangeLog()

    assert not log.is_current
    assert log.take().directories is None


def test_what_a_job_took_is_covered_once_it_lands():
    log = ChangeLog()
    taken = log.take()

    assert not log.is_current
    log.landed(taken)
    assert log.is_current


def test_a_change_during_a_job_is_not_covered_by_it():
    log = covered_log()
    log.note(frozenset({"a"}))
    taken = log.take()
    log.note(frozenset({"b"}))

    log.landed(taken)

    assert not log.is_current
    assert log.take().directories == {"b"}


def test_changes_gather_until_they_are_taken():
    log = covered_log()
    log.note(frozenset({"a"}))
    log.note(frozenset({"b"}))

    assert log.take().directories == {"a", "b"}


def test_anywhere_swallows_single_directories():
    log = covered_log()
    log.note(frozenset({"a"}))
    log.note(None)
    log.note(frozenset({"b"}))

    assert log.take().directories is None


def test_no_change_is_no_change():
    log = covered_log()
    log.note(frozenset())

    assert log.is_current


def test_what_a_failed_job_took_is_pending_again_with_what_came_since():
    log = covered_log()
    log.note(frozenset({"a"}))
    taken = log.take()
    log.note(frozenset({"b"}))

    log.put_back(taken)

    assert not log.is_current
    assert log.take().directories == {"a", "b"}


def test_a_whole_scan_that_failed_is_a_whole_scan_again():
    log = ChangeLog()
    log.put_back(log.take())

    assert log.take().directories is None


def test_files_that_are_known_by_name_go_with_the_job_and_come_back_where_it_fails():
    log = covered_log()
    log.note(frozenset({"a"}), frozenset({"a/x.py"}))
    taken = log.take()
    log.note(frozenset({"b"}), frozenset({"b/y.py"}))

    assert taken.files == {"a/x.py"}
    assert log.files == {"b/y.py"}
    log.put_back(taken)
    assert log.take().files == {"a/x.py", "b/y.py"}
