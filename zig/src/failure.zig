//! How a call fails: the reason goes into the caller's own out-struct, the error only unwinds.

const std = @import("std");
const abi = @import("abi.zig");
const clock = @import("clock.zig");
const c = std.c;
const E = c.E;

/// The reason is in the out-struct already.
pub const Error = error{Failed};

/// Pinned by queues beside the memory under test, roughly.
const rings_bytes = 1 << 20;
/// ENOMEM under a limit below this many times the need is the limit's doing: other probes and processes count into it too.
const memlock_margin = 16;

/// Where one call reports, and what it works on.
pub const Report = struct {
    status: *abi.Status,
    failure: *abi.Failure,
    device: []const u8,
    port: u32,
    /// Memory that the call registers, for the word on RLIMIT_MEMLOCK.
    pinned_bytes: u64,

    pub fn fail(self: *const Report, status: abi.Status, operation: []const u8, errno: u16, comptime reason: []const u8, args: anytype) Error {
        std.debug.assert(status != .ok);
        self.status.* = status;
        var object_buffer: [abi.name_bytes + 16]u8 = undefined;
        const object = std.fmt.bufPrint(&object_buffer, "{s} port {d}", .{ self.device, self.port }) catch unreachable;
        describe(self.failure, operation, object, errno, reason, args);
        return error.Failed;
    }

    pub fn forget(self: *const Report) void {
        self.status.* = .ok;
        self.failure.* = std.mem.zeroes(abi.Failure);
    }

    pub fn expire(self: *const Report, expiry: clock.Expiry, operation: []const u8) Error {
        return switch (expiry) {
            .cancelled => self.fail(.cancelled, operation, 0, "cancelled", .{}),
            .deadline => self.fail(.deadline_exceeded, operation, 0, "the deadline of the call passed", .{}),
        };
    }

    /// `status`, unless the errno tells more.
    pub fn refuse(self: *const Report, status: abi.Status, operation: []const u8, errno: u16) Error {
        switch (@as(E, @enumFromInt(errno))) {
            .NODEV, .IO => return self.fail(.device_removed, operation, errno, "{s}, the device went away", .{errnoName(errno)}),
            .NOMEM => {
                const limit = memlockLimitBytes() orelse return self.fail(status, operation, errno, "ENOMEM, RLIMIT_MEMLOCK is unlimited", .{});
                const pinned = self.pinned_bytes + rings_bytes;
                const verdict: abi.Status = if (limit < memlock_margin * pinned) .memlock_limit else status;
                return self.fail(verdict, operation, errno, "ENOMEM, RLIMIT_MEMLOCK is {d} bytes and the probe pins about {d}; raise it (ulimit -l, LimitMEMLOCK=infinity)", .{ limit, pinned });
            },
            else => return self.fail(status, operation, errno, "{s}", .{errnoName(errno)}),
        }
    }
};

/// Fills the texts and the errno of `failure`; its text is "object: operation: reason".
pub fn describe(failure: *abi.Failure, operation: []const u8, object: []const u8, errno: u16, comptime reason: []const u8, args: anytype) void {
    failure.errno_value = errno;
    put(&failure.operation, "{s}", .{operation});
    put(&failure.object, "{s}", .{object});
    put(&failure.text, "{s}: {s}: " ++ reason, .{ object, operation } ++ args);
}

/// "EINVAL"; verbs do not always set it.
pub fn errnoName(errno: u16) []const u8 {
    if (errno == 0) return "failed without an errno";
    return switch (@as(E, @enumFromInt(errno))) {
        inline else => |known| "E" ++ @tagName(known),
        _ => "an unknown errno",
    };
}

/// Verbs return an errno, its negative, or -1 and set it.
pub fn errnoOf(rc: isize) u16 {
    return if (rc == -1) lastErrno() else @intCast(@abs(rc));
}

pub fn lastErrno() u16 {
    return @intCast(c._errno().*);
}

/// The soft limit, null when there is none.
fn memlockLimitBytes() ?u64 {
    const limit = std.posix.getrlimit(.MEMLOCK) catch return null;
    return if (limit.cur == std.math.maxInt(@TypeOf(limit.cur))) null else limit.cur;
}

/// Formats into a zero-terminated field, cutting what does not fit.
pub fn put(field: []u8, comptime format: []const u8, args: anytype) void {
    var writer: std.Io.Writer = .fixed(field[0 .. field.len - 1]);
    writer.print(format, args) catch {};
    @memset(field[writer.end..], 0);
}
