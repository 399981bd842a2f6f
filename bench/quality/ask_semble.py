"""Queries semble about one work tree: `SEMBLE_PYTHON ask_semble.py TREE PREFIX < questions > answers`, in semble's environment.

For a fair comparison in the same run; the user installs semble (0.7) in a separate environment. Its model would have to be
downloaded, so it runs without one, as in its own ablation: a stand-in of the same shape, and the weight of meaning set to 0. Its
ranking is on. Imports nothing of this project.
"""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

LIMIT = 10
DIMENSIONS = 8


def main() -> None:
    """Runs the command line."""
    import numpy as np  # type: ignore[import-not-found]
    from semble.index.create import create_index_from_path  # type: ignore[import-not-found]
    from semble.index.index import SembleIndex  # type: ignore[import-not-found]
    from semble.types import ContentType  # type: ignore[import-not-found]

    tree, prefix = Path(sys.argv[1]).resolve(), sys.argv[2]
    model = SimpleNamespace(dim=DIMENSIONS, encode=lambda texts, **_options: np.ones((len(texts), DIMENSIONS), dtype=np.float32))
    content = (ContentType.CODE,)
    bm25, vectors, chunks, _ = create_index_from_path(tree, model=model, content=content, display_root=tree)
    index = SembleIndex(model, bm25, vectors, chunks, "none", root=tree, content=content)
    for line in sys.stdin.buffer:
        question = json.loads(line)
        began = time.perf_counter()
        found = index.search(question["query"], top_k=LIMIT, alpha=0.0)
        milliseconds = (time.perf_counter() - began) * 1000
        hits = [
            {
                "path": prefix + str(result.chunk.file_path).replace("\\", "/"),
                "line_start": result.chunk.start_line,
                "line_end": result.chunk.end_line,
            }
            for result in found
        ]
        answer = {"repo": question["repo"], "query": question["query"], "results": hits, "ms": round(milliseconds, 3)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
