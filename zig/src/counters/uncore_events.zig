//! How the events of uncore PMUs are coded: as sysfs describes them, or where it is silent, from a table of CPU models.

const std = @import("std");
const abi = @import("../abi.zig");
const sysfs = @import("../sysfs.zig");

/// In the names of PMUs whose counters never stop and take no other events.
pub const free_running = "_free_running";

pub const Direction = abi.UncoreDirection;

/// An event by name, and which way its bytes go.
pub const Event = struct { name: []const u8, direction: Direction };

/// Sets of events that say it all; the first that can be had is used.
pub fn choices(kind: abi.UncoreKind) []const []const Event {
    return switch (kind) {
        .memory => &.{
            &.{ .{ .name = "cas_count_read", .direction = .read }, .{ .name = "cas_count_write", .direction = .written } },
            // Granite Rapids: two schedulers for each channel.
            &.{
                .{ .name = "cas_count_read_sch0", .direction = .read },     .{ .name = "cas_count_read_sch1", .direction = .read },
                .{ .name = "cas_count_write_sch0", .direction = .written }, .{ .name = "cas_count_write_sch1", .direction = .written },
            },
            // Free-running counters, and client CPUs.
            &.{ .{ .name = "read", .direction = .read }, .{ .name = "write", .direction = .written } },
            &.{ .{ .name = "data_read", .direction = .read }, .{ .name = "data_write", .direction = .written } },
            &.{ .{ .name = "data_reads", .direction = .read }, .{ .name = "data_writes", .direction = .written } },
        },
        .inter_socket => &.{&.{.{ .name = "txl_flits_all_data", .direction = .sent }}},
    };
}

/// Bytes that one count stands for.
pub const Ratio = struct { numerator: u64, denominator: u64 };

/// A cache line for each column access.
const line: Ratio = .{ .numerator = 64, .denominator = 1 };
/// A cache line takes nine data flits (Intel's uncore performance monitoring manuals: ALL_DATA / 9 × 64 B).
const upi_data_flit: Ratio = .{ .numerator = 64, .denominator = 9 };
/// QPI carries 8 bytes of payload in a data flit.
const qpi_data_flit: Ratio = .{ .numerator = 8, .denominator = 1 };

/// An event as some CPU models code it; the terms are spelt as sysfs does.
const Known = struct {
    /// Of family 6.
    models: []const u32,
    /// The PMU's name begins so.
    pmu: []const u8,
    event: []const u8,
    terms: []const u8,
    ratio: Ratio,
    source: []const u8,
    /// The kernel's own description may be wrong.
    overrides_sysfs: bool = false,
};

const haswell_broadwell = [_]u32{ 63, 79 };
const skylake = [_]u32{85};
const icelake = [_]u32{ 106, 108 };
const sapphire_emerald = [_]u32{ 143, 207 };
const granite = [_]u32{ 173, 174 };

const perf_json = "tools/perf/pmu-events of Linux 6.12: ";
const icelake_source = "Linux 5.17 (96fd2e89fba1): kernels before it count the wrong accesses on Ice Lake servers";
const known_events = [_]Known{
    .{ .models = &icelake, .pmu = "uncore_imc", .event = "cas_count_read", .terms = "event=0x04,umask=0x0f", .ratio = line, .source = icelake_source, .overrides_sysfs = true },
    .{ .models = &icelake, .pmu = "uncore_imc", .event = "cas_count_write", .terms = "event=0x04,umask=0x30", .ratio = line, .source = icelake_source, .overrides_sysfs = true },
    .{ .models = &skylake, .pmu = "uncore_imc", .event = "cas_count_read", .terms = "event=0x04,umask=0x03", .ratio = line, .source = perf_json ++ "skylakex UNC_M_CAS_COUNT.RD" },
    .{ .models = &skylake, .pmu = "uncore_imc", .event = "cas_count_write", .terms = "event=0x04,umask=0x0c", .ratio = line, .source = perf_json ++ "skylakex UNC_M_CAS_COUNT.WR" },
    .{ .models = &sapphire_emerald, .pmu = "uncore_imc", .event = "cas_count_read", .terms = "event=0x05,umask=0xcf", .ratio = line, .source = perf_json ++ "sapphirerapids UNC_M_CAS_COUNT.RD" },
    .{ .models = &sapphire_emerald, .pmu = "uncore_imc", .event = "cas_count_write", .terms = "event=0x05,umask=0xf0", .ratio = line, .source = perf_json ++ "sapphirerapids UNC_M_CAS_COUNT.WR" },
    .{ .models = &granite, .pmu = "uncore_imc", .event = "cas_count_read_sch0", .terms = "event=0x05,umask=0xcf", .ratio = line, .source = perf_json ++ "graniterapids UNC_M_CAS_COUNT_SCH0.RD" },
    .{ .models = &granite, .pmu = "uncore_imc", .event = "cas_count_read_sch1", .terms = "event=0x06,umask=0xcf", .ratio = line, .source = perf_json ++ "graniterapids UNC_M_CAS_COUNT_SCH1.RD" },
    .{ .models = &granite, .pmu = "uncore_imc", .event = "cas_count_write_sch0", .terms = "event=0x05,umask=0xf0", .ratio = line, .source = perf_json ++ "graniterapids UNC_M_CAS_COUNT_SCH0.WR" },
    .{ .models = &granite, .pmu = "uncore_imc", .event = "cas_count_write_sch1", .terms = "event=0x06,umask=0xf0", .ratio = line, .source = perf_json ++ "graniterapids UNC_M_CAS_COUNT_SCH1.WR" },
    .{ .models = &(skylake ++ icelake ++ sapphire_emerald ++ granite), .pmu = "uncore_upi", .event = "txl_flits_all_data", .terms = "event=0x02,umask=0x0f", .ratio = upi_data_flit, .source = perf_json ++ "UNC_UPI_TxL_FLITS.ALL_DATA" },
    .{ .models = &haswell_broadwell, .pmu = "uncore_qpi", .event = "txl_flits_all_data", .terms = "event=0x00,umask=0x02", .ratio = qpi_data_flit, .source = perf_json ++ "UNC_Q_TxL_FLITS_G0.DATA" },
};

pub const Cpu = struct {
    family: u32,
    model: u32,

    /// The one that runs this.
    pub fn this() Cpu {
        if (@import("builtin").cpu.arch != .x86_64) return .{ .family = 0, .model = 0 };
        const signature = asm volatile ("cpuid"
            : [eax] "={eax}" (-> u32),
            : [leaf] "{eax}" (@as(u32, 1)),
            : .{ .ebx = true, .ecx = true, .edx = true });
        return ofSignature(signature);
    }

    /// Intel SDM, CPUID leaf 1.
    fn ofSignature(eax: u32) Cpu {
        const family = (eax >> 8) & 0xf;
        const model = (eax >> 4) & 0xf;
        const extended_model = (eax >> 16) & 0xf;
        return .{
            .family = if (family == 0xf) family + ((eax >> 20) & 0xff) else family,
            .model = if (family == 6 or family == 0xf) extended_model << 4 | model else model,
        };
    }
};

fn find(cpu: Cpu, pmu: []const u8, event: []const u8) ?*const Known {
    if (cpu.family != 6 or std.mem.indexOf(u8, pmu, free_running) != null) return null;
    for (&known_events) |*known| {
        if (std.mem.startsWith(u8, pmu, known.pmu) and std.mem.eql(u8, known.event, event) and
            std.mem.indexOfScalar(u32, known.models, cpu.model) != null) return known;
    }
    return null;
}

/// The three words of perf_event_attr that select an event.
pub const Encoding = struct { config: [3]u64 = @splat(0) };

pub const Resolved = struct {
    encoding: Encoding,
    ratio: Ratio,
    /// The table's entry, null when sysfs has described the event.
    source: ?[]const u8,
};

/// `event` of the PMU in the folder `dir`; null when nobody knows it.
pub fn resolve(cpu: Cpu, dir: []const u8, pmu: []const u8, event: []const u8) error{Malformed}!?Resolved {
    const known = find(cpu, pmu, event);
    if (known) |entry| if (entry.overrides_sysfs) return .{ .encoding = try encode(dir, entry.terms), .ratio = entry.ratio, .source = entry.source };

    var buffer: [256]u8 = undefined;
    var name_buffer: [abi.name_bytes + 16]u8 = undefined;
    const file = std.fmt.bufPrint(&name_buffer, "events/{s}", .{event}) catch return error.Malformed;
    if (sysfs.readText(&buffer, dir, file)) |terms|
        return .{ .encoding = try encode(dir, terms), .ratio = try readRatio(dir, event) orelse line, .source = null };
    const entry = known orelse return null;
    return .{ .encoding = try encode(dir, entry.terms), .ratio = entry.ratio, .source = entry.source };
}

/// `events/NAME.scale` and `.unit`; null without the former (old kernels: a column access is a line all the same).
fn readRatio(dir: []const u8, event: []const u8) error{Malformed}!?Ratio {
    var name_buffer: [abi.name_bytes + 16]u8 = undefined;
    var buffer: [64]u8 = undefined;
    const scale_file = std.fmt.bufPrint(&name_buffer, "events/{s}.scale", .{event}) catch return error.Malformed;
    const scale = std.fmt.parseFloat(f64, sysfs.readText(&buffer, dir, scale_file) orelse return null) catch return error.Malformed;
    const unit_file = std.fmt.bufPrint(&name_buffer, "events/{s}.unit", .{event}) catch return error.Malformed;
    const unit = sysfs.readText(&buffer, dir, unit_file) orelse return error.Malformed;
    return try ratioOf(scale, unit);
}

fn ratioOf(scale: f64, unit: []const u8) error{Malformed}!Ratio {
    const units = [_]struct { name: []const u8, bytes: f64 }{
        .{ .name = "Bytes", .bytes = 1 },     .{ .name = "KiB", .bytes = 1 << 10 },
        .{ .name = "MiB", .bytes = 1 << 20 }, .{ .name = "GiB", .bytes = 1 << 30 },
        .{ .name = "MB", .bytes = 1e6 },
    };
    const unit_bytes = for (units) |known| {
        if (std.mem.eql(u8, known.name, unit)) break known.bytes;
    } else return error.Malformed;
    const bytes = scale * unit_bytes;
    // A line of 64 bytes is 6.103515625e-5 MiB exactly; no counter counts less than a millionth of a byte, or a GiB at a time.
    const denominator = 1_000_000;
    if (!(bytes * denominator >= 1 and bytes <= 1 << 30)) return error.Malformed;
    if (@abs(bytes - @round(bytes)) < 1e-6) return .{ .numerator = @intFromFloat(@round(bytes)), .denominator = 1 };
    return .{ .numerator = @intFromFloat(@round(bytes * denominator)), .denominator = denominator };
}

/// "event=0x04,umask=0x03", each term placed where `format/TERM` says.
fn encode(dir: []const u8, terms: []const u8) error{Malformed}!Encoding {
    var encoding: Encoding = .{};
    var items = std.mem.tokenizeScalar(u8, terms, ',');
    if (items.peek() == null) return error.Malformed;
    while (items.next()) |item| {
        var sides = std.mem.splitScalar(u8, item, '=');
        const name = sides.first();
        const value = if (sides.next()) |text| std.fmt.parseInt(u64, text, 0) catch return error.Malformed else 1;
        var name_buffer: [abi.name_bytes + 16]u8 = undefined;
        const file = std.fmt.bufPrint(&name_buffer, "format/{s}", .{name}) catch return error.Malformed;
        var buffer: [128]u8 = undefined;
        try place(&encoding, sysfs.readText(&buffer, dir, file) orelse return error.Malformed, value);
    }
    return encoding;
}

/// `format` is "config:0-7" or "config1:8-15,32-55": the value's bits go there, lowest first.
fn place(encoding: *Encoding, format: []const u8, value: u64) error{Malformed}!void {
    const colon = std.mem.indexOfScalar(u8, format, ':') orelse return error.Malformed;
    const words = [_][]const u8{ "config", "config1", "config2" };
    const word = for (words, 0..) |name, i| {
        if (std.mem.eql(u8, name, format[0..colon])) break &encoding.config[i];
    } else return error.Malformed;
    var rest = value;
    var ranges = std.mem.tokenizeScalar(u8, format[colon + 1 ..], ',');
    while (ranges.next()) |range| {
        var ends = std.mem.splitScalar(u8, range, '-');
        const first = std.fmt.parseInt(u6, ends.first(), 10) catch return error.Malformed;
        const last = if (ends.next()) |end| std.fmt.parseInt(u6, end, 10) catch return error.Malformed else first;
        if (last < first) return error.Malformed;
        const bits: u7 = @as(u7, last - first) + 1;
        const mask: u64 = if (bits == 64) std.math.maxInt(u64) else (@as(u64, 1) << @intCast(bits)) - 1;
        word.* |= (rest & mask) << first;
        rest = if (bits == 64) 0 else rest >> @intCast(bits);
    }
    if (rest != 0) return error.Malformed;
}

const testing = std.testing;

test "values go where the format says" {
    const max = std.math.maxInt(u64);
    const cases = [_]struct { name: []const u8, format: []const u8, value: u64, want: ?[3]u64 }{
        .{ .name = "event", .format = "config:0-7", .value = 0x04, .want = .{ 0x04, 0, 0 } },
        .{ .name = "umask", .format = "config:8-15", .value = 0xcf, .want = .{ 0xcf00, 0, 0 } },
        .{ .name = "one bit", .format = "config:18", .value = 1, .want = .{ 1 << 18, 0, 0 } },
        .{ .name = "a mask in two places", .format = "config:8-15,32-55", .value = 0x123_4f, .want = .{ 0x123_0000_4f00, 0, 0 } },
        .{ .name = "another word", .format = "config1:0-63", .value = max, .want = .{ 0, max, 0 } },
        .{ .name = "the third word", .format = "config2:4-7", .value = 0xf, .want = .{ 0, 0, 0xf0 } },
        .{ .name = "too large", .format = "config:0-7", .value = 0x100, .want = null },
        .{ .name = "no word", .format = "0-7", .value = 1, .want = null },
        .{ .name = "an unknown word", .format = "config9:0-7", .value = 1, .want = null },
        .{ .name = "backwards", .format = "config:7-0", .value = 1, .want = null },
        .{ .name = "out of the word", .format = "config:60-64", .value = 1, .want = null },
        .{ .name = "no bits", .format = "config:", .value = 1, .want = null },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        var encoding: Encoding = .{};
        const placed = place(&encoding, case.format, case.value);
        if (case.want) |want| {
            try placed;
            try testing.expectEqual(want, encoding.config);
        } else try testing.expectError(error.Malformed, placed);
    }
}

test "scale and unit are bytes" {
    const cases = [_]struct { scale: f64, unit: []const u8, want: ?Ratio }{
        .{ .scale = 6.103515625e-5, .unit = "MiB", .want = .{ .numerator = 64, .denominator = 1 } },
        .{ .scale = 64, .unit = "Bytes", .want = .{ .numerator = 64, .denominator = 1 } },
        .{ .scale = 7.5, .unit = "Bytes", .want = .{ .numerator = 7_500_000, .denominator = 1_000_000 } },
        .{ .scale = 0, .unit = "MiB", .want = null },
        .{ .scale = -1, .unit = "MiB", .want = null },
        .{ .scale = std.math.nan(f64), .unit = "MiB", .want = null },
        .{ .scale = 1e300, .unit = "MiB", .want = null },
        .{ .scale = 1, .unit = "Joules", .want = null },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {d} {s}\n", .{ case.scale, case.unit });
        if (case.want) |want| try testing.expectEqual(want, try ratioOf(case.scale, case.unit)) else try testing.expectError(error.Malformed, ratioOf(case.scale, case.unit));
    }
}

test "CPUs by their signature" {
    const cases = [_]struct { eax: u32, family: u32, model: u32 }{
        .{ .eax = 0x000606a6, .family = 6, .model = 106 }, // Ice Lake-SP
        .{ .eax = 0x000806f8, .family = 6, .model = 143 }, // Sapphire Rapids
        .{ .eax = 0x00a10f11, .family = 25, .model = 17 }, // EPYC 9004
    };
    for (cases) |case| try testing.expectEqual(Cpu{ .family = case.family, .model = case.model }, Cpu.ofSignature(case.eax));
}

test "every event of the table is one that is looked for" {
    for (known_events) |known| {
        errdefer std.debug.print("event: {s}\n", .{known.event});
        const kind: abi.UncoreKind = if (std.mem.eql(u8, known.pmu, "uncore_imc")) .memory else .inter_socket;
        var wanted = false;
        for (choices(kind)) |set| for (set) |event| {
            wanted = wanted or std.mem.eql(u8, event.name, known.event);
        };
        try testing.expect(wanted);
        try testing.expect(known.source.len < abi.text_bytes);
    }
}
