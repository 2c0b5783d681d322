const std = @import("std");
const builtin = @import("builtin");

/// The one pin of the compiler's version is `minimum_zig_version`; this project takes exactly that one.
const pinned_zig_version = @import("build.zig.zon").minimum_zig_version;

/// The oldest glibc that the programs must run on (RHEL 8, Debian 10).
const oldest_target: std.Target.Query = .{
    .cpu_arch = .x86_64,
    .os_tag = .linux,
    .abi = .gnu,
    .glibc_version = .{ .major = 2, .minor = 28, .patch = 0 },
};

comptime {
    if (!std.mem.eql(u8, builtin.zig_version_string, pinned_zig_version))
        @compileError("hostping needs Zig " ++ pinned_zig_version ++ ", this is " ++ builtin.zig_version_string ++ "; contrib/build/fetch-zig fetches it");
}

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{ .default_target = oldest_target });
    // ReleaseSafe unless told otherwise: the measuring loops wait for the device, not for the checks.
    const optimize = b.option(std.builtin.OptimizeMode, "optimize", "Default: ReleaseSafe") orelse .ReleaseSafe;

    b.installArtifact(addArchive(b, "hostping", "zig/hostping.zig", target, optimize));
    const stub = addStub(b, target);
    b.installArtifact(stub);

    addTestArtefacts(b, target, optimize, stub);
    addTests(b, target, optimize);
    addHeaderStep(b);
}

/// A static library that cgo links: position independent, complete in itself, without debug information (it would carry
/// the paths of the build machine).
fn addArchive(b: *std.Build, name: []const u8, root: []const u8, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) *std.Build.Step.Compile {
    const library = b.addLibrary(.{
        .name = name,
        .linkage = .static,
        .root_module = b.createModule(.{
            .root_source_file = b.path(root),
            .target = target,
            .optimize = optimize,
            .link_libc = true,
            .pic = true,
            .strip = true,
        }),
    });
    library.bundle_compiler_rt = true;
    return library;
}

/// What programs link instead of the real libibverbs, so that a build needs no development package, and a verb that
/// rdma-core 32 lacks fails at link time.
fn addStub(b: *std.Build, target: std.Build.ResolvedTarget) *std.Build.Step.Compile {
    const stub = b.addLibrary(.{
        .name = "ibverbs",
        .linkage = .dynamic,
        .version = .{ .major = 1, .minor = 0, .patch = 0 },
        .root_module = b.createModule(.{ .target = target, .optimize = .ReleaseSmall, .link_libc = true, .strip = true }),
    });
    stub.root_module.addCSourceFile(.{ .file = b.path("zig/stub/libibverbs.c") });
    stub.setVersionScript(b.path("zig/stub/libibverbs.map"));
    return stub;
}

/// What only tests link or run, in zig-out/test: never part of the default build.
fn addTestArtefacts(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode, stub: *std.Build.Step.Compile) void {
    const step = b.step("test-artefacts", "Build what the Go tests and the lab need into zig-out/test");
    const fake = addArchive(b, "hostping_fake", "zig/hostping_fake.zig", target, optimize);

    const fault = b.addLibrary(.{
        .name = "ibverbs-fault",
        .linkage = .dynamic,
        .root_module = b.createModule(.{
            .root_source_file = b.path("zig/fault_verbs.zig"),
            .target = target,
            .optimize = optimize,
            .link_libc = true,
            .strip = true,
        }),
    });

    const bare_loop = b.addExecutable(.{
        .name = "bare_loop",
        .root_module = b.createModule(.{ .target = target, .optimize = .ReleaseFast, .link_libc = true, .strip = true }),
    });
    bare_loop.root_module.addCSourceFile(.{ .file = b.path("zig/testing/bare_loop.c"), .flags = &.{ "-std=c11", "-Wall", "-Wextra", "-Werror" } });
    bare_loop.root_module.linkLibrary(stub);

    for ([_]*std.Build.Step.Compile{ fake, fault, bare_loop }) |artefact|
        step.dependOn(&b.addInstallArtifact(artefact, .{ .dest_dir = .{ .override = .{ .custom = "test" } } }).step);
}

fn addTests(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) void {
    const step = b.step("test", "Run the Zig tests");
    const tests = b.addTest(.{ .root_module = b.createModule(.{
        .root_source_file = b.path("zig/tests.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    }) });
    tests.root_module.addIncludePath(b.path("zig/include"));
    tests.root_module.addAnonymousImport("hostping.h", .{ .root_source_file = b.path("zig/include/hostping.h") });
    step.dependOn(&b.addRunArtifact(tests).step);

    // The native target, since only that one finds the system's headers.
    const header = "/usr/include/infiniband/verbs.h";
    if (std.Io.Dir.cwd().access(b.graph.io, header, .{})) {
        const layout = b.addTest(.{ .name = "verbs-layout", .root_module = b.createModule(.{
            .root_source_file = b.path("zig/verbs_layout_tests.zig"),
            .target = b.resolveTargetQuery(.{}),
            .optimize = .Debug,
            .link_libc = true,
        }) });
        step.dependOn(&b.addRunArtifact(layout).step);
    } else |_| {
        step.dependOn(&b.addSystemCommand(&.{ "echo", "NOT TESTED: the layouts of zig/src/verbs.zig, for want of " ++ header ++ " (Debian: libibverbs-dev)" }).step);
    }
}

fn addHeaderStep(b: *std.Build) void {
    const generator = b.addExecutable(.{
        .name = "header",
        .root_module = b.createModule(.{ .root_source_file = b.path("zig/header_main.zig"), .target = b.graph.host, .optimize = .Debug }),
    });
    const header = b.addRunArtifact(generator).captureStdOut(.{});
    const update = b.addUpdateSourceFiles();
    update.addCopyFileToSource(header, "zig/include/hostping.h");
    b.step("header", "Regenerate zig/include/hostping.h").dependOn(&update.step);
}
