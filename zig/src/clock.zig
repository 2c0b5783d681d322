//! Time, and what may end a wait: a deadline or the caller's cancel token.

const std = @import("std");
const c = std.c;

/// Nanoseconds of CLOCK_MONOTONIC_RAW: never stepped, never slewed.
pub inline fn now_ns() u64 {
    var ts: c.timespec = undefined;
    // It cannot fail: the clock exists on every kernel that this library can load on.
    _ = c.clock_gettime(.MONOTONIC_RAW, &ts);
    return @as(u64, @intCast(ts.sec)) * std.time.ns_per_s + @as(u64, @intCast(ts.nsec));
}

pub const CancelToken = struct {
    triggered: std.atomic.Value(bool) = .init(false),
};

pub const Expiry = enum { cancelled, deadline };

pub const Limit = struct {
    cancel: ?*const CancelToken,
    deadline_ns: u64,

    /// The reason to stop at `at_ns`, or null.
    pub fn reached(self: Limit, at_ns: u64) ?Expiry {
        if (self.cancel) |token| if (token.triggered.load(.acquire)) return .cancelled;
        return if (at_ns >= self.deadline_ns) .deadline else null;
    }
};

test "a limit is reached by its token or its time" {
    var token: CancelToken = .{};
    const limit: Limit = .{ .cancel = &token, .deadline_ns = 100 };
    try std.testing.expectEqual(null, limit.reached(99));
    try std.testing.expectEqual(.deadline, limit.reached(100));
    token.triggered.store(true, .release);
    try std.testing.expectEqual(.cancelled, limit.reached(99));
}

test "the clock moves forward" {
    const first = now_ns();
    var later = now_ns();
    while (later == first) later = now_ns();
    try std.testing.expect(later > first);
}
