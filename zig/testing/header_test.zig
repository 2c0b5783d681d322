//! The checked-in C header read back: what C sees is what abi.zig says.

const std = @import("std");
const abi = @import("../src/abi.zig");
const header = @import("../src/header.zig");
const h = @cImport(@cInclude("hostping.h"));
const testing = std.testing;

test "the checked-in header is the one that the types generate" {
    var generated: std.Io.Writer.Allocating = .init(testing.allocator);
    defer generated.deinit();
    try header.write(&generated.writer);
    try testing.expectEqualStrings(@embedFile("hostping.h"), generated.written());
}

const structs = .{
    .{ abi.Failure, h.hp_failure },
    .{ abi.OptionalU64, h.hp_optional_u64 },
    .{ abi.LinkReading, h.hp_link_reading },
    .{ abi.HopReading, h.hp_hop_reading },
    .{ abi.LatencySummary, h.hp_latency_summary },
    .{ abi.Throughput, h.hp_throughput },
    .{ abi.LoopbackConfig, h.hp_loopback_config },
    .{ abi.LoopbackResult, h.hp_loopback_result },
    .{ abi.Outcome, h.hp_outcome },
    .{ abi.CounterValue, h.hp_counter_value },
    .{ abi.EthtoolReading, h.hp_ethtool_reading },
    .{ abi.NvmlValue, h.hp_nvml_value },
    .{ abi.NvmlReading, h.hp_nvml_reading },
    .{ abi.UncoreConfig, h.hp_uncore_config },
    .{ abi.UncoreCounter, h.hp_uncore_counter },
    .{ abi.UncoreSocket, h.hp_uncore_socket },
    .{ abi.Description, h.hp_description },
};

test "structs have the same layout in C" {
    @setEvalBranchQuota(100_000);
    comptime var known = 0;
    inline for (@typeInfo(abi).@"struct".decls) |decl| {
        const value = @field(abi, decl.name);
        if (@TypeOf(value) == type and @typeInfo(value) == .@"struct" and @typeInfo(value).@"struct".layout == .@"extern") known += 1;
    }
    try testing.expectEqual(known, structs.len);
    inline for (structs) |pair| {
        errdefer std.debug.print("struct {s}\n", .{@typeName(pair[0])});
        try testing.expectEqual(@sizeOf(pair[1]), @sizeOf(pair[0]));
        try testing.expectEqual(@alignOf(pair[1]), @alignOf(pair[0]));
        const fields = @typeInfo(pair[0]).@"struct".fields;
        try testing.expectEqual(@typeInfo(pair[1]).@"struct".fields.len, fields.len);
        inline for (fields) |field| {
            errdefer std.debug.print("field {s}\n", .{field.name});
            try testing.expectEqual(@offsetOf(pair[1], field.name), @offsetOf(pair[0], field.name));
            try testing.expectEqual(@sizeOf(@FieldType(pair[1], field.name)), @sizeOf(field.type));
        }
    }
}

test "enums have the same values in C" {
    @setEvalBranchQuota(10_000);
    const enums = .{ .{ abi.Status, "HP_STATUS_" }, .{ abi.PageKind, "HP_PAGE_KIND_" }, .{ abi.ToolCheck, "HP_TOOL_CHECK_" }, .{ abi.CounterState, "HP_COUNTER_STATE_" }, .{ abi.UncoreKind, "HP_UNCORE_KIND_" }, .{ abi.UncoreDirection, "HP_UNCORE_DIRECTION_" } };
    inline for (enums) |entry| inline for (@typeInfo(entry[0]).@"enum".fields) |field| {
        const name = comptime name: {
            var buffer: [field.name.len]u8 = undefined;
            break :name entry[1] ++ std.ascii.upperString(&buffer, field.name);
        };
        try testing.expectEqual(@as(i64, @field(h, name)), field.value);
    };
}

test "limits and functions have the same shape in C" {
    try testing.expectEqual(h.HP_ABI_VERSION, abi.abi_version);
    try testing.expectEqual(h.HP_HOPS_MAX, abi.hops_max);
    try testing.expectEqual(h.HP_FLAG_BASE_PAGES, abi.flag_base_pages);
    inline for (abi.functions) |function| {
        const ours = @typeInfo(function.Type).@"fn";
        const theirs = @typeInfo(@TypeOf(@field(h, function.name))).@"fn";
        errdefer std.debug.print("function {s}\n", .{function.name});
        try testing.expectEqual(theirs.params.len, ours.params.len);
        inline for (theirs.params, ours.params) |t, o| try testing.expectEqual(@sizeOf(t.type.?), @sizeOf(o.type.?));
        try testing.expectEqual(@sizeOf(theirs.return_type.?), @sizeOf(ours.return_type.?));
    }
}
