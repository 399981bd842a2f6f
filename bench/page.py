"""Times the page in Chromium: from the last key of a query to its first hit on the screen, and how far the page shifts meanwhile.

    python -m bench.page TREE [--home DIR] [--rounds 3] [--pace-ms 80]

The index is made in `--home`, or in a temporary directory. Keys are typed at a pace, as a person does; the last one of a query is
timed by the page itself, from the event of the key to the frame that shows the answer. A shift is the layout instability that
browsers measure (https://wicg.github.io/layout-instability/) and that no input has caused, summed over all queries; 0 is none.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.figures import percentile
from bench.interactive import QUERIES
from bench.table import plain_table
from tests.ui.browsing import CHROMIUM, browser_tools, codecompass, server_process

WATCH: Final = """
window.shifted = 0;
new PerformanceObserver(list => {
    for (const each of list.getEntries()) { if (!each.hadRecentInput) { window.shifted += each.value; } }
}).observe({type: 'layout-shift', buffered: true});
addEventListener('keydown', event => { window.pressedAt = event.timeStamp; }, true);
window.answered = text => new Promise(resolve => {
    const look = () => document.getElementById('results').dataset.answers === text
        ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - window.pressedAt)))
        : requestAnimationFrame(look);
    look();
});
"""


def timed(page: Any, query: str, pace_ms: float) -> float:
    """Types a query. Returns the milliseconds from its last key to the frame that shows its answer."""
    page.locator("#q").fill("")
    page.evaluate("text => { window.answer = window.answered(text); }", query)
    page.locator("#q").press_sequentially(query, delay=pace_ms)
    milliseconds: float = page.evaluate("window.answer")
    return milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pace-ms", type=float, default=80)
    given = parser.parse_args()
    api = browser_tools()
    with tempfile.TemporaryDirectory() as temporary:
        home = given.home or Path(temporary)
        codecompass(home, "index", str(given.tree))
        with server_process(home, cwd=given.tree) as server, api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
            page = browser.new_page(base_url=server.url)
            page.add_init_script(WATCH)
            page.goto("/ui")
            for query in QUERIES:  # the first question of a word reads its part of the index from the disk
                timed(page, query, given.pace_ms)
            took = [timed(page, query, given.pace_ms) for _ in range(given.rounds) for query in QUERIES]
            shifted = page.evaluate("window.shifted")
            browser.close()
    rows = [[str(len(took)), f"{statistics.median(took):.0f}", f"{percentile(took, 0.95):.0f}", f"{shifted:.3f}"]]
    print(plain_table(["queries", "p50 ms", "p95 ms", "shift"], rows))


if __name__ == "__main__":
    main()
