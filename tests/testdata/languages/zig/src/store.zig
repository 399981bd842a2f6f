//! Where things are kept.

const std = @import("std");
const mem = @import("std").mem;
const model = @import("model.zig");
pub const Item = @import("model.zig").Item;
const Allocator = std.mem.Allocator;
usingnamespace @import("extra.zig");

const Self = @This();

items: []Item,
/// How many there may be.
limit: usize = 10,

/// A place on a shelf.
///
/// Counted from the left.
pub const Point = struct {
    x: i32,
    /// Upwards.
    y: i32 = 0,
    @"odd name": u8 = 1,

    pub const zero = Point{ .x = 0 };
    var made: usize = 0;

    // Makes one.
    pub fn init(x: i32) Point {
        made += 1;
        return .{ .x = x };
    }
    fn hidden(self: *Point) void {
        _ = self;
    }
    const Inner = struct { z: u8 };
    comptime {
        std.debug.assert(@sizeOf(Point) > 0);
    }
};

pub const State = enum(u8) {
    open,
    closed = 2,
    _,

    pub fn isOpen(self: State) bool {
        return self == .open;
    }
};
const Value = union(enum) { int: i32, float: f32, none };
pub const Failure = error{ Full, Gone };
const AnyFailure = Failure || error{Lost};
const Handle = opaque {};
const Flags = packed struct(u32) { a: u1, rest: u31 };
const Pair = struct { i32, u8 };
const Callback = *const fn (i32) void;
const table = [_]u8{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
pub const MAX_ITEMS = 100;
var counter: usize = 0;
pub threadlocal var depth: u8 = 1;
pub extern var environ: [*:null]?[*:0]u8;
pub const platform = if (is_windows) struct {
    pub fn sleep() void {}
} else struct {};

/// Adds two.
pub fn add(
    a: i32,
    b: i32,
) !i32 {
    const sum = a + b;
    const Local = struct {
        total: i32,
        fn get(self: @This()) i32 {
            return self.total;
        }
    };
    if (sum > 0) {
        const Kind = enum { positive, negative };
        _ = Kind.positive;
    }
    const lazy = @import("lazy.zig");
    return lazy.run(Local{ .total = sum });
}

export fn store_version() u32 {
    return 1;
}
extern "c" fn printf(format: [*:0]const u8, ...) c_int;
pub inline fn fast() void {}

pub fn List(comptime T: type) type {
    return struct {
        const Node = struct { next: ?*Node, data: T };
        first: ?*Node = null,

        pub fn push(self: *@This(), node: *Node) void {
            node.next = self.first;
            self.first = node;
        }
    };
}

pub fn sorted(items: []u8, options: struct { reverse: bool = false }) void {
    std.mem.sort(u8, items, {}, struct {
        fn lessThan(_: void, a: u8, b: u8) bool {
            return a < b;
        }
    }.lessThan);
    _ = options;
}

test "a list keeps its items" {
    const Case = struct { size: usize };
    _ = Case;
}
test add {}
test {
    _ = @import("store_test.zig");
}
