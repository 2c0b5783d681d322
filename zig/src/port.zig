//! One opened port of one RDMA device: what it is, how it is addressed, and whether it is still there.

const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const gid = @import("gid.zig");
const sysfs = @import("sysfs.zig");
const verbs = @import("verbs.zig");
const c = std.c;

const E = c.E;
const Error = failure.Error;
const Report = failure.Report;
const errnoOf = failure.errnoOf;
const lastErrno = failure.lastErrno;

/// Entries of all ports together; the kernel refuses a table that does not fit.
const gid_table_max = 1024;

pub const Port = struct {
    verbs: *const verbs.Table,
    report: *const Report,
    device_list: [*:null]?*verbs.Device,
    context: *verbs.Context,
    events_readable: bool,
    was_registered: bool,

    /// The device and port that `report` names.
    pub fn open(table: *const verbs.Table, report: *const Report) Error!Port {
        const list = table.get_device_list(null) orelse {
            const errno = lastErrno();
            return switch (@as(E, @enumFromInt(errno))) {
                .NOSYS => explainAbsence(report, errno),
                .PERM, .ACCES => report.refuse(.permission_denied, "ibv_get_device_list", errno),
                else => report.refuse(.device_unusable, "ibv_get_device_list", errno),
            };
        };
        errdefer table.free_device_list(list);
        const device = for (std.mem.span(list)) |entry| {
            if (std.mem.eql(u8, std.mem.sliceTo(&entry.?.name, 0), report.device)) break entry.?;
        } else return explainAbsence(report, 0);
        switch (device.transport_type) {
            .iwarp, .usnic, .usnic_udp => return report.fail(.device_unsupported, "ibv_get_device_list", 0, "the device's transport is {s}, the probe needs InfiniBand or RoCE", .{@tagName(device.transport_type)}),
            else => {},
        }
        c._errno().* = 0;
        const context = table.open_device(device) orelse return explainOpen(report, device, lastErrno());
        return .{
            .verbs = table,
            .report = report,
            .device_list = list,
            .context = context,
            .events_readable = setNonBlocking(context.async_fd),
            .was_registered = sysfs.exists(@ptrCast(&device.dev_path)),
        };
    }

    pub fn close(self: *const Port) void {
        _ = self.verbs.close_device(self.context);
        self.verbs.free_device_list(self.device_list);
    }

    pub fn queryDevice(self: *const Port) Error!verbs.DeviceAttributes {
        var attributes: verbs.DeviceAttributes = undefined;
        const rc = self.verbs.query_device(self.context, &attributes);
        if (rc != 0) return self.report.refuse(.device_unusable, "ibv_query_device", errnoOf(rc));
        return attributes;
    }

    pub fn query(self: *const Port) Error!verbs.PortAttributes {
        var attributes: verbs.PortAttributes = undefined;
        const rc = self.queryInto(&attributes);
        if (rc != 0) return self.report.refuse(.device_unusable, "ibv_query_port", errnoOf(rc));
        return attributes;
    }

    /// Null when it cannot be told.
    pub fn stateNow(self: *const Port) ?verbs.PortState {
        var attributes: verbs.PortAttributes = undefined;
        return if (self.queryInto(&attributes) == 0) attributes.state else null;
    }

    fn queryInto(self: *const Port, attributes: *verbs.PortAttributes) c_int {
        // The exported function may leave the newest fields alone.
        attributes.* = std.mem.zeroes(verbs.PortAttributes);
        return self.verbs.query_port(self.context, @intCast(self.report.port), attributes);
    }

    /// `index` -1 chooses. InfiniBand ports are addressed by LID, and need no candidate unless they ask for a global route.
    pub fn candidateGids(self: *const Port, attributes: *const verbs.PortAttributes, index: i32) Error!gid.Candidates {
        const on_ethernet = attributes.link_layer == .ethernet;
        if (!on_ethernet and attributes.flags & verbs.port_flag_grh_required == 0) return .{};
        var table: [gid_table_max]verbs.GidEntry = undefined;
        const count = self.verbs.query_gid_table(self.context, &table, table.len, 0, @sizeOf(verbs.GidEntry));
        if (count < 0) return self.report.refuse(.device_unusable, "ibv_query_gid_table", errnoOf(count));
        const entries = table[0..@intCast(count)];
        const wanted: ?u32 = if (index >= 0) @intCast(index) else if (on_ethernet) null else 0;
        if (wanted) |only| {
            for (entries) |entry| if (entry.port_num == self.report.port and entry.gid_index == only) return .of(entry);
            return self.report.fail(.no_usable_gid, "ibv_query_gid_table", 0, "GID index {d} is empty", .{only});
        }
        const candidates = gid.choose(entries, self.report.port);
        if (candidates.count == 0)
            return self.report.fail(.no_usable_gid, "ibv_query_gid_table", 0, "none of {d} GIDs can carry RoCE v2 (switchdev mode, or no IP address?)", .{entries.len});
        return candidates;
    }

    /// Fails when the device or the port has said that it is gone, or the device's entry has disappeared.
    pub fn checkPresence(self: *const Port) Error!void {
        try self.checkEvents();
        // A driver that cannot take a device from its users (soft-RoCE) makes the removal wait for them and sends no event.
        if (self.was_registered and !sysfs.exists(@ptrCast(&self.context.device.dev_path)))
            return self.report.fail(.device_removed, "sysfs", @intFromEnum(E.NOENT), "the device's uverbs entry is gone: it is being removed", .{});
    }

    fn checkEvents(self: *const Port) Error!void {
        if (!self.events_readable) return;
        var event: verbs.AsyncEvent = undefined;
        while (self.verbs.get_async_event(self.context, &event) == 0) {
            const kind = event.event_type;
            const port = event.element.port_num;
            self.verbs.ack_async_event(&event);
            switch (kind) {
                .device_fatal => return self.report.fail(.device_removed, "ibv_get_async_event", 0, "the device reported IBV_EVENT_DEVICE_FATAL", .{}),
                .port_err => if (port == self.report.port)
                    return self.report.fail(.port_changed, "ibv_get_async_event", 0, "the port reported IBV_EVENT_PORT_ERR", .{}),
                else => {},
            }
        }
        const errno = lastErrno();
        if (errno == @intFromEnum(E.IO) or errno == @intFromEnum(E.NODEV)) return self.report.refuse(.device_removed, "ibv_get_async_event", errno);
    }

    /// In 4-byte words, in the port's `counters` folder.
    pub fn readBytes(self: *const Port, sent: *abi.OptionalU64, received: *abi.OptionalU64) void {
        var dir_buffer: [512]u8 = undefined;
        const device_dir = std.mem.sliceTo(&self.context.device.ibdev_path, 0);
        const dir = std.fmt.bufPrint(&dir_buffer, "{s}/ports/{d}/counters", .{ device_dir, self.report.port }) catch return;
        sent.* = .of(if (sysfs.readNumber(dir, "port_xmit_data")) |words| words *% 4 else null);
        received.* = .of(if (sysfs.readNumber(dir, "port_rcv_data")) |words| words *% 4 else null);
    }

    pub fn stateName(state: ?verbs.PortState) []const u8 {
        return switch (state orelse return "unreadable") {
            .nop => "NOP",
            .down => "DOWN",
            .init => "INIT",
            .armed => "ARMED",
            .active => "ACTIVE",
            .active_defer => "ACTIVE_DEFER",
            _ => "an unknown state",
        };
    }
};

/// libibverbs lists devices by their uverbs files, the kernel has them without, too.
fn explainAbsence(report: *const Report, errno: u16) Error {
    var path_buffer: [128]u8 = undefined;
    const path = std.fmt.bufPrintSentinel(&path_buffer, "/sys/class/infiniband/{s}", .{report.device}, 0) catch unreachable;
    if (sysfs.exists(path))
        return report.fail(.uverbs_missing, "ibv_get_device_list", errno, "the device has no uverbs file; load ib_uverbs, or pass /dev/infiniband into the container", .{});
    return report.fail(.device_not_found, "ibv_get_device_list", errno, "no RDMA device of that name", .{});
}

fn explainOpen(report: *const Report, device: *const verbs.Device, errno: u16) Error {
    var path_buffer: [128]u8 = undefined;
    const path = std.fmt.bufPrintSentinel(&path_buffer, "/dev/infiniband/{s}", .{std.mem.sliceTo(&device.dev_name, 0)}, 0) catch unreachable;
    return switch (@as(E, @enumFromInt(errno))) {
        .PERM, .ACCES => report.fail(.permission_denied, "ibv_open_device", errno, "no permission to open {s}; run as root, or give its group access", .{path}),
        .NOENT, .NXIO => report.fail(.uverbs_missing, "ibv_open_device", errno, "{s} is missing; load ib_uverbs, or pass the file into the container", .{path}),
        else => report.refuse(.device_unusable, "ibv_open_device", errno),
    };
}

fn setNonBlocking(fd: c_int) bool {
    const flags = c.fcntl(fd, c.F.GETFL);
    if (flags < 0) return false;
    const nonblock: c_int = @bitCast(c.O{ .NONBLOCK = true });
    return c.fcntl(fd, c.F.SETFL, flags | nonblock) == 0;
}
