"""Rules that typeset sheet music.

def not_this():
    pass
"""

load("@bazel_skylib//lib:dicts.bzl", "dicts")
load(
    "//music/private:providers.bzl",
    "ScoreInfo",
    _part_info = "PartInfo",
)
load(":defs.bzl", "DEFAULT_PAPER")

visibility(["//music/..."])

PAPERS = {
    "a4": "210mm",
    "letter": 'def fake(): "8.5in"',
}

# Where fonts are looked for.
_FONT_DIRS = [
    "//fonts:serif",
    "@music_fonts//:all",
] + select({
    "//conditions:default": [],
    "@platforms//os:macos": ["//fonts:mac"],
})

EngraverInfo, _new_engraver_info = provider(
    "An engraver.",
    fields = ["binary", "flags"],
    init = lambda binary, flags = []: {"binary": binary, "flags": flags},
)

def _is_big(score, *, limit = 100): return len(score.bars) > limit

def _engrave_impl(ctx):
    # def commented_out(ctx): pass
    toolchain = ctx.toolchains["//music:toolchain_type"].engraver
    out = ctx.actions.declare_file(ctx.attr.name + ".pdf")
    args = ctx.actions.args()
    args.add_all(
        ctx.files.srcs,
        before_each = "--in",
        map_each = _to_path,
    )
    for key, value in ctx.attr.options.items():
        if not value: continue
        args.add("--{}={}".format(key, value))
    ctx.actions.run(
        executable = toolchain.binary,
        inputs = depset(ctx.files.srcs, transitive = [
            dep[ScoreInfo].parts
            for dep in ctx.attr.deps
            if ScoreInfo in dep
        ]),
        outputs = [out],
        arguments = [args],
        mnemonic = "Engrave",
    )
    return [
        DefaultInfo(files = depset([out])),
        ScoreInfo(name = "name = 'inside'", parts = depset()),
    ]

def _to_path(file):
    return file.short_path if file.is_source else file.path

_engrave_attrs = dict(
    srcs = attr.label_list(allow_files = [".ly", ".mei"], mandatory = True),
    deps = attr.label_list(providers = [[ScoreInfo], [_part_info]]),
    options = attr.string_dict(),
)

engrave = rule(
    implementation = _engrave_impl,
    attrs = dicts.add(_engrave_attrs, {
        "paper": attr.string(default = DEFAULT_PAPER, values = PAPERS.keys()),
    }),
    toolchains = ["//music:toolchain_type"],
    doc = """Engraves a score.

    Example:
    ```
    engrave(name = "sonata", srcs = ["sonata.ly"])
    ```
    """,
)

def score(
        name,
        srcs,
        parts = {},  # part -> file
        paper = "a4",
        tags = [],
        **kwargs):
    """Declares a score with its parts.

    Args:
      name: of the target
    """
    for part, file in parts.items():
        engrave(
            name = "%s.%s" % (name, part),
            srcs = [file],
        )
    native.filegroup(
        name = name + "_all",
        srcs = srcs,
    )
    native.genrule(
        name = "credits",
        cmd = "$(location //tools:credits) > $@",
    )

playback_aspect = aspect(
    implementation = lambda target, ctx: [],
    attr_aspects = ["deps"],
)
fonts = tag_class(attrs = {"name": attr.string()})

def _music_extension_impl(mctx):
    [http_font(name = f.name) for mod in mctx.modules for f in mod.tags.fonts]

music = module_extension(
    implementation = _music_extension_impl,
    tag_classes = {"fonts": fonts},
)
