//! Writes the C header of abi.zig: shapes by reflection, comments by reading its source.

const std = @import("std");
const abi = @import("abi.zig");

const source = @embedFile("abi.zig");
const Writer = std.Io.Writer;

pub fn write(out: *Writer) !void {
    try out.writeAll(
        \\/* Generated from zig/src/abi.zig by `zig build header`; do not edit. */
        \\#ifndef HOSTPING_H
        \\#define HOSTPING_H
        \\
        \\#include <stdint.h>
        \\
        \\#ifdef __cplusplus
        \\extern "C" {
        \\#endif
        \\
    );
    @setEvalBranchQuota(100_000);
    inline for (@typeInfo(abi).@"struct".decls) |decl| {
        const value = @field(abi, decl.name);
        switch (@typeInfo(@TypeOf(value))) {
            .comptime_int, .int => {
                try out.writeByte('\n');
                try writeDoc(out, "", constDoc(decl.name));
                try out.print("#define HP_{s} {d}u\n", .{ comptime upper(decl.name), value });
            },
            .type => switch (@typeInfo(value)) {
                .@"enum" => try writeEnum(out, value, decl.name),
                .@"struct" => |info| if (info.layout == .@"extern") try writeStruct(out, value, decl.name),
                .@"opaque" => {
                    try out.writeByte('\n');
                    try writeDoc(out, "", constDoc(decl.name));
                    try out.print("typedef struct hp_{0s} hp_{0s};\n", .{comptime snake(decl.name)});
                },
                else => {},
            },
            else => {},
        }
    }
    inline for (abi.functions) |function| {
        const info = @typeInfo(function.Type).@"fn";
        try out.writeByte('\n');
        try out.print("/* {s} */\n{s}{s}(", .{ function.doc, comptime cResult(info.return_type.?), function.name });
        if (info.params.len == 0) try out.writeAll("void");
        inline for (info.params, function.parameters, 0..) |parameter, name, i| {
            if (i > 0) try out.writeAll(", ");
            try out.print("{s}{s}", .{ comptime cResult(parameter.type.?), name });
        }
        try out.writeAll(");\n");
    }
    try out.writeAll(
        \\
        \\#ifdef __cplusplus
        \\}
        \\#endif
        \\
        \\#endif
        \\
    );
}

fn writeEnum(out: *Writer, comptime T: type, comptime name: []const u8) !void {
    try out.writeByte('\n');
    try writeDoc(out, "", constDoc(name));
    try out.print("typedef {s} hp_{s};\nenum {{\n", .{ comptime cName(@typeInfo(T).@"enum".tag_type), comptime snake(name) });
    inline for (@typeInfo(T).@"enum".fields) |field| {
        try writeDoc(out, "\t", fieldDoc(name, field.name));
        try out.print("\tHP_{s}_{s} = {d},\n", .{ comptime upper(snake(name)), comptime upper(field.name), field.value });
    }
    try out.writeAll("};\n");
}

fn writeStruct(out: *Writer, comptime T: type, comptime name: []const u8) !void {
    try out.writeByte('\n');
    try writeDoc(out, "", constDoc(name));
    try out.print("typedef struct hp_{s} {{\n", .{comptime snake(name)});
    inline for (@typeInfo(T).@"struct".fields) |field| {
        try writeDoc(out, "\t", fieldDoc(name, field.name));
        try out.print("\t{s} {s}{s};\n", .{ comptime cName(elementOf(field.type)), field.name, comptime dimensions(field.type) });
    }
    try out.print("}} hp_{s};\n", .{comptime snake(name)});
}

fn elementOf(comptime T: type) type {
    return switch (@typeInfo(T)) {
        .array => |array| elementOf(array.child),
        else => T,
    };
}

fn dimensions(comptime T: type) []const u8 {
    return switch (@typeInfo(T)) {
        .array => |array| std.fmt.comptimePrint("[{d}]", .{array.len}) ++ dimensions(array.child),
        else => "",
    };
}

/// Text arrays are `char` in C, so that callers can use string functions on them.
fn cName(comptime T: type) []const u8 {
    return switch (T) {
        u8 => "char",
        u32 => "uint32_t",
        i32 => "int32_t",
        u64 => "uint64_t",
        void => "void",
        else => inline for (@typeInfo(abi).@"struct".decls) |decl| {
            const value = @field(abi, decl.name);
            if (@TypeOf(value) == type and value == T) break "hp_" ++ snake(decl.name);
        } else @compileError("no C name for " ++ @typeName(T)),
    };
}

/// A type before a name: with its space, or its star.
fn cResult(comptime T: type) []const u8 {
    return switch (@typeInfo(T)) {
        .optional => |optional| cResult(optional.child),
        .pointer => |pointer| (if (pointer.is_const) "const " else "") ++ cName(pointer.child) ++ " *",
        else => cName(T) ++ " ",
    };
}

fn snake(comptime name: []const u8) []const u8 {
    comptime var out: []const u8 = "";
    inline for (name, 0..) |c, i| {
        if (std.ascii.isUpper(c) and i > 0) out = out ++ "_";
        out = out ++ [_]u8{std.ascii.toLower(c)};
    }
    return out;
}

fn upper(comptime name: []const u8) []const u8 {
    comptime var out: []const u8 = "";
    inline for (name) |c| out = out ++ [_]u8{std.ascii.toUpper(c)};
    return out;
}

/// The `///` lines above the line that begins with `start`, at or after `from`.
fn docBefore(from: usize, start: []const u8) []const u8 {
    var lines = std.mem.splitScalar(u8, source[from..], '\n');
    var doc_begin: ?usize = null;
    var offset = from;
    while (lines.next()) |line| : (offset += line.len + 1) {
        const text = std.mem.trimStart(u8, line, " ");
        if (std.mem.startsWith(u8, text, start)) return if (doc_begin) |begin| source[begin..offset] else "";
        if (!std.mem.startsWith(u8, text, "///")) {
            doc_begin = null;
        } else if (doc_begin == null) {
            doc_begin = offset;
        }
    }
    unreachable; // reflection has just shown this declaration
}

fn constDoc(comptime name: []const u8) []const u8 {
    return docBefore(0, comptime constStart(name));
}

fn constStart(comptime name: []const u8) []const u8 {
    return "pub const " ++ name ++ (if (std.mem.indexOf(u8, source, "pub const " ++ name ++ ":") != null) ":" else " =");
}

fn fieldDoc(comptime container: []const u8, comptime name: []const u8) []const u8 {
    const from = std.mem.indexOf(u8, source, "pub const " ++ container ++ " = ").?;
    const separator = if (@typeInfo(@field(abi, container)) == .@"enum") " =" else ":";
    return docBefore(from, name ++ separator);
}

fn writeDoc(out: *Writer, indent: []const u8, doc: []const u8) !void {
    var lines = std.mem.tokenizeScalar(u8, doc, '\n');
    while (lines.next()) |line| {
        const text = std.mem.trim(u8, line, " /");
        try out.print("{s}/* {s} */\n", .{ indent, text });
    }
}
