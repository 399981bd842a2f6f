//! Reads waveforms of earthquakes.
//! pub fn notThis() void {}

const std = @import("std");
const builtin = @import("builtin");
const assert = std.debug.assert;
const testing = std.testing;
const log = std.log.scoped(.seismic);
const native_endian = builtin.cpu.arch.endian();

pub const version: std.SemanticVersion = .{ .major = 0, .minor = 3, .patch = 1 };
pub const codec = @import("codec.zig");
pub const Steim = codec.Steim;

/// Samples a second.
pub const Rate = enum(u16) {
    bh = 40,
    hh = 100,
    lh = 1,
    _,

    pub const default: Rate = .bh;

    pub fn period(rate: Rate) f64 {
        return 1.0 / @as(f64, @floatFromInt(@intFromEnum(rate)));
    }

    pub fn format(
        rate: Rate,
        comptime fmt: []const u8,
        options: std.fmt.FormatOptions,
        writer: anytype,
    ) @TypeOf(writer).Error!void {
        _ = .{ fmt, options };
        try writer.print("{d} Hz", .{@intFromEnum(rate)});
    }
};

pub const Header = extern struct {
    magic: [4]u8 align(1) = "SEIS".*,
    flags: Flags,
    count: u32,

    pub const Flags = packed struct(u32) {
        is_final: bool = false,
        quality: enum(u2) { raw, checked, final } = .raw,
        _padding: u29 = 0,
    };

    comptime {
        assert(@sizeOf(Header) == 12);
    }
};

pub const ReadError = error{
    /// Not one of ours.
    BadMagic,
    Truncated,
} || std.fs.File.ReadError;

pub const Sample = union(enum) {
    int: i32,
    float: f32,
    gap: struct { from: u64, to: u64 },
    missing,

    pub fn value(self: Sample) ?f64 {
        return switch (self) {
            .int => |i| @floatFromInt(i),
            .float => |f| f,
            inline .gap, .missing => null,
        };
    }
};

pub const Trace = struct {
    const Self = @This();

    allocator: std.mem.Allocator,
    station: []const u8,
    samples: std.ArrayListUnmanaged(Sample) = .{},
    on_gap: ?*const fn (from: u64, to: u64) void = null,
    lock: if (builtin.single_threaded) void else std.Thread.Mutex,

    pub fn init(allocator: std.mem.Allocator, station: []const u8) error{OutOfMemory}!Self {
        return .{ .allocator = allocator, .station = try allocator.dupe(u8, station), .lock = .{} };
    }

    pub fn deinit(self: *Self) void {
        self.samples.deinit(self.allocator);
        self.* = undefined;
    }

    /// Appends what a reader gives.
    pub inline fn read(self: *Self, reader: anytype) (ReadError || @TypeOf(reader).Error)!usize {
        const header = reader.readStruct(Header) catch |err| switch (err) {
            error.EndOfStream => return ReadError.Truncated,
            else => |e| return e,
        };
        if (!std.mem.eql(u8, &header.magic, "SEIS")) return error.BadMagic;
        var n: usize = 0;
        while (n < header.count) : (n += 1) {
            const raw = try reader.readInt(i32, .little);
            try self.samples.append(self.allocator, .{ .int = raw });
        } else log.debug("fn fake() void {{}} {d}", .{n});
        return blk: {
            defer n = 0;
            break :blk n;
        };
    }

    pub const Iterator = struct {
        trace: *const Trace,
        index: usize = 0,

        pub fn next(it: *Iterator) ?Sample {
            if (it.index >= it.trace.samples.items.len) return null;
            defer it.index += 1;
            return it.trace.samples.items[it.index];
        }
    };

    pub fn iterator(self: *const Self) Iterator {
        return .{ .trace = self };
    }
};

/// A buffer that forgets.
pub fn Ring(comptime T: type, comptime capacity: comptime_int) type {
    if (capacity == 0) @compileError("struct { empty: void }");
    return struct {
        items: [capacity]T = undefined,
        head: Index = 0,

        pub const Index = std.math.IntFittingRange(0, capacity);

        pub fn push(ring: *@This(), item: T) ?T {
            const old = ring.items[ring.head];
            ring.items[ring.head] = item;
            ring.head = (ring.head + 1) % capacity;
            return old;
        }
    };
}

const usage =
    \\Usage: seismic [file]
    \\pub const Fake = struct {};
    \\
;

threadlocal var scratch: [4096]u8 align(64) = undefined;
var gpa = std.heap.GeneralPurposeAllocator(.{}){};
export var seismic_abi: c_int = 3;
extern "c" var errno: c_int;
extern fn seismic_now() callconv(.C) u64;
pub extern "z" fn crc32(crc: c_ulong, buf: [*]const u8, len: c_uint) c_ulong;

export fn seismic_open(path: [*:0]const u8) callconv(.C) ?*anyopaque {
    _ = path;
    return null;
}

noinline fn cold(comptime message: []const u8) noreturn {
    @branchHint(.cold);
    @panic(message);
}

pub fn main() !void {
    defer _ = gpa.deinit();
    const Options = struct { path: ?[]const u8 = null, verbose: bool = false };
    const table = comptime blk: {
        var t: [256]u8 = undefined;
        for (&t, 0..) |*slot, i| slot.* = i ^ 0xff;
        break :blk t;
    };
    const by_length = struct {
        fn lessThan(_: void, a: []const u8, b: []const u8) bool {
            return a.len < b.len;
        }
    }.lessThan;
    var options: Options = .{};
    _ = .{ table, by_length, &options };
    asm volatile ("nop" ::: "memory");
}

pub const @"error": u8 = 1;
const V4 = @Vector(4, f32);
const Fn = fn (u8) callconv(.Inline) void;
pub const is_debug = builtin.mode == .Debug;

test Ring {
    var ring: Ring(u8, 4) = .{};
    _ = ring.push(1);
}

test "a trace without samples is empty" {
    const trace = try Trace.init(testing.allocator, "ABC");
    try testing.expectEqual(@as(usize, 0), trace.samples.items.len);
}

test "names with \"quotes\" and fn fake() {}" {
    try testing.expect(true);
}
comptime {
    _ = codec;
    @export(&cold, .{ .name = "seismic_cold" });
}
