"""Rules for kits, which are parts packed with a manual."""

load("//tools:versions.bzl", "version_of")
load("//tools/private:zip.bzl", "zip_files", packer = "zip_tool")
load("@rules_python//python:defs.bzl", "py_binary")

KitInfo = provider(
    doc = "What is in a kit.",
    fields = ["parts", "manual"],
)

DEFAULT_PACKER = "//tools:packer"
_MAX_PARTS = 100

def _parts_of(targets):
    """Returns the files of all targets, once each."""
    seen = {}
    for target in targets:
        for file in target.files.to_list():
            seen[file.path] = file
    return seen.values()

# Packs the parts.
def _kit_impl(ctx):
    parts = _parts_of(ctx.attr.parts)
    if len(parts) > _MAX_PARTS:
        fail("too many parts: # not a comment")

    def shorten(path):
        return path.split("/")[-1]

    out = ctx.actions.declare_file(ctx.label.name + ".zip")
    zip_files(ctx, out, {shorten(part.path): part for part in parts})
    return [
        DefaultInfo(files = depset([out])),
        KitInfo(parts = parts, manual = ctx.file.manual),
    ]

kit = rule(
    implementation = _kit_impl,
    attrs = {
        "parts": attr.label_list(mandatory = True),
        "manual": attr.label(allow_single_file = True),
    },
)

def kit_suite(name, kits, **kwargs):
    """Declares one kit for each entry.

    Args:
        name: of the suite.
    """
    for label, parts in kits.items():
        kit(
            name = name + "_" + label,
            parts = parts,
            **kwargs
        )
    native.filegroup(name = name, srcs = kits.keys())

versions = [version_of(part) for part in ["bolt", "nut"]]
