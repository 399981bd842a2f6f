//! Imports that are only written about: @import("doc.zig")
const shown = "call @import(\"string.zig\") first";
const code =
    \\const a = @import("lines.zig");
;

/// Unlike @import("comment.zig").
pub fn run() void {
    // const b = @import("commented.zig");
    const text =
        \\@import("inner.zig")
    ;
    const real = @import("real.zig").Thing;
    print("@import(\"x.zig\")", .{ text, @import("nested.zig") });
}
