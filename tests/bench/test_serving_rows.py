"""Rows show the measured value next to the target."""

from bench.measure import ProcessMemory
from bench.serving import Asked, IndexingRuns, SaveRuns, ServingRuns, StartRuns, Visible
from bench.serving_rows import figures_of
from bench.table import figures_table

RUNS = ServingRuns(
    start=StartRuns(
        files=20_000,
        initialize=(0.2, 0.4, 0.3),
        imports=(0.2, 0.2, 0.2),
        python=(0.02,),
        first_answer=(0.5,),
        first_answer_fresh=1,
        idle=ProcessMemory(rss=50_000_000, anonymous=30_000_000, n_processes=1),
        asked=ProcessMemory(rss=60_000_000, anonymous=40_000_000, n_processes=1),
        idle_cpu_seconds_a_minute=0.06,
        end=(0.2,),
    ),
    saves=(
        SaveRuns(
            name="t",
            files=5_000,
            asked=Visible(seconds=tuple(number / 100 for number in range(1, 21)), n_held=19, n_fresh=18),
            watched=Visible(seconds=(0.1, 0.2), n_held=2, n_fresh=0),
            update_cpu_seconds=(0.06,),
            update_wall_seconds=(0.2,),
        ),
    ),
    warm=(Asked(kind="locate_symbol", milliseconds=(0.5, 0.7)),),
    indexing=IndexingRuns(
        files=10_000,
        seconds=20.0,
        asked=(Asked(kind="ping", milliseconds=(1.0, 2.0)), Asked(kind="search_code", milliseconds=())),
        peak_rss_all=None,
        end_while_indexing=0.3,
    ),
)


def test_each_measurement_has_its_row_with_the_targets_of_the_contract():
    rows = {row.what: row for row in figures_of(RUNS)}

    start = rows["serve-mcp: `initialize` answered after process start"]
    assert (start.value, start.must, start.aim) == (0.3, "2 s", "0.3 s, 1.6x imports")
    assert round(start.beside[0].ratio, 3) == 1.5
    assert rows["memory of an idle server, one project, 20,000 files"].value == 60_000_000
    saved = rows["save to visible, asked at once, 5,000 files: p95"]
    assert saved.value == 0.19
    assert "held it 19 times of 20, and said fresh 18 times" in saved.note
    assert rows["ping while 10,000 files are indexed: p95"].must == "50 ms"


def test_what_could_not_be_measured_has_no_row():
    rows = [row.what for row in figures_of(RUNS)]

    assert not [row for row in rows if row.startswith(("search_code while", "memory of all processes"))]


def test_the_table_shows_all_rows():
    rows = figures_of(RUNS)

    table = figures_table(rows)

    assert all(row.what in table for row in rows)
