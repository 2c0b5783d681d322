//! Statistics of latency samples.

const std = @import("std");
const abi = @import("abi.zig");

/// Sorts `samples` in place.
pub fn summarize(samples: []u64) abi.LatencySummary {
    if (samples.len == 0) return std.mem.zeroes(abi.LatencySummary);
    std.sort.pdq(u64, samples, {}, std.sort.asc(u64));
    return .{
        .count = samples.len,
        .min_ns = samples[0],
        .p50_ns = percentile(samples, 50),
        .p99_ns = percentile(samples, 99),
        .max_ns = samples[samples.len - 1],
    };
}

/// Nearest rank: the smallest sample that at least `percent` per cent of them do not exceed.
pub fn percentile(sorted: []const u64, percent: u64) u64 {
    std.debug.assert(sorted.len > 0 and percent >= 1 and percent <= 100);
    const rank = (sorted.len * percent + 99) / 100;
    return sorted[rank - 1];
}

test "summaries" {
    var hundred: [100]u64 = undefined;
    for (&hundred, 0..) |*sample, i| sample.* = 100 - i;
    var one = [_]u64{7};
    var outlier = [_]u64{ 10, 10, 10, 9_000 };
    const cases = [_]struct { name: []const u8, samples: []u64, want: abi.LatencySummary }{
        .{ .name = "none", .samples = &.{}, .want = .{ .count = 0, .min_ns = 0, .p50_ns = 0, .p99_ns = 0, .max_ns = 0 } },
        .{ .name = "one", .samples = &one, .want = .{ .count = 1, .min_ns = 7, .p50_ns = 7, .p99_ns = 7, .max_ns = 7 } },
        .{ .name = "1 to 100, backwards", .samples = &hundred, .want = .{ .count = 100, .min_ns = 1, .p50_ns = 50, .p99_ns = 99, .max_ns = 100 } },
        .{ .name = "the tail is kept", .samples = &outlier, .want = .{ .count = 4, .min_ns = 10, .p50_ns = 10, .p99_ns = 9_000, .max_ns = 9_000 } },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        try std.testing.expectEqual(case.want, summarize(case.samples));
    }
}
