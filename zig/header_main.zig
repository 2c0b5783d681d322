//! Prints the C header on standard output.

const std = @import("std");
const header = @import("src/header.zig");

pub fn main(init: std.process.Init) !void {
    var buffer: [4096]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(init.io, &buffer);
    try header.write(&stdout.interface);
    try stdout.interface.flush();
}
