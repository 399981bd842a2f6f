# Macros and rules for the parser.
load("@bazel_skylib//lib:paths.bzl", "paths")

_DEFAULT_SIZE = "medium"
PARSER_COPTS = ["-Wall", "-Wextra"]

ParserInfo = provider(
    doc = "What a grammar gives.",
    fields = {"tables": "generated tables"},
)

def _generate_impl(ctx):
    """Writes the tables."""
    output = ctx.actions.declare_file(ctx.label.name + ".inc")

    def inner(path):
        return paths.basename(path)

    ctx.actions.run(
        outputs = [output],
        executable = ctx.executable._tool,
        arguments = [inner(output.path)],
    )
    return [DefaultInfo(files = depset([output])), ParserInfo(tables = output)]

generate = rule(
    implementation = _generate_impl,
    attrs = {
        "_tool": attr.label(executable = True, cfg = "exec"),
    },
)

# A test with the options of the parser.
def parser_test(
        name,
        srcs,
        size = _DEFAULT_SIZE,
        **kwargs):
    native.cc_test(
        name = name,
        srcs = srcs,
        size = size,
        copts = PARSER_COPTS,
        **kwargs
    )
