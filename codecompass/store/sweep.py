"""Clean-up after writers: whatever no publication names, be it of one that crashed or of one that is done."""

from codecompass.store.layout import ProjectLayout, discard, empty_trash


def sweep(layout: ProjectLayout, epoch: str, generation: int) -> None:
    """Removes other epochs, other generations of `epoch` and half-deleted directories. The caller holds the writer lock.

    Raises OSError where something cannot be removed.
    """
    for directory in layout.epochs.iterdir():
        if directory.name != epoch:
            discard(layout, directory)
    keep = layout.text(epoch, generation)
    for directory in keep.parent.iterdir() if keep.parent.is_dir() else ():
        if directory != keep:
            discard(layout, directory)
    empty_trash(layout)
