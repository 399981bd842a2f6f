"""What an index job would index: the same scan and the same checks of each file's content, without writing an index."""

import os
from pathlib import Path

from codecompass.actors.index_limits import index_limits
from codecompass.cli.json_output import IndexPlan, LeftOutFile, PlannedFile
from codecompass.languages.words import WordSplitter
from codecompass.scan.walk import scan
from codecompass.settings import IndexSettings
from codecompass.worker.messages import Batch, FileTask
from codecompass.worker.reading import read_file


def plan(root: Path, settings: IndexSettings) -> IndexPlan:
    """Returns what would be indexed of the tree at `root`. Reads every file once; raises OSError for a missing root."""
    limits = index_limits(settings)
    scanned = scan(str(root), limits.rules)
    batch = Batch(
        root=os.fsencode(root),
        tasks=(),
        parse=False,
        max_file_bytes=limits.rules.max_file_bytes,
        max_line_characters=limits.max_line_characters,
        parse_cpu_seconds=limits.parse_cpu_seconds,
    )
    splitter = WordSplitter()
    files = []
    skipped = [LeftOutFile(item.path, item.reason, item.size) for item in scanned.skipped]
    for file in scanned.files:
        answer = read_file(batch, FileTask(file.path), splitter).answer
        if answer.status == "indexed":
            files.append(PlannedFile(file.path, file.size, answer.language))
        elif answer.status == "skipped":
            skipped.append(LeftOutFile(file.path, answer.reason, file.size))
    return IndexPlan(
        repo_root=str(root),
        files=tuple(files),
        skipped=tuple(sorted(skipped, key=lambda item: item.path)),
        total_bytes=sum(file.size for file in files),
        ignored_files=scanned.ignored_files,
        ignored_directories=scanned.ignored_directories,
        warnings=scanned.warnings,
    )
