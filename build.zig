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
    // ReleaseSafe unless told otherwise. Measured over a provider that does nothing, post to completion of one write takes
    // 20 to 30 ns (the clock's own resolution is 10 ns) in ReleaseSafe, in ReleaseFast and in a bare C loop alike: the checks
    // cost the figures nothing, and a programming error ends the program with a word instead of with a wrong figure.
    const optimize = b.option(std.builtin.OptimizeMode, "optimize", "Default: ReleaseSafe") orelse .ReleaseSafe;

    const library = addArchive(b, "hostping", "zig/hostping.zig", target, optimize);
    b.installArtifact(library);
    const stub = addStub(b, target);
    b.installArtifact(stub);

    addTestArtefacts(b, target, optimize, library, stub);
    addTests(b, target);
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
fn addTestArtefacts(
    b: *std.Build,
    target: std.Build.ResolvedTarget,
    optimize: std.builtin.OptimizeMode,
    library: *std.Build.Step.Compile,
    stub: *std.Build.Step.Compile,
) void {
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

    const once = addCProgram(b, "loopback_once", target, stub);
    once.root_module.addIncludePath(b.path("zig/include"));
    once.root_module.linkLibrary(library);

    for ([_]*std.Build.Step.Compile{ fake, fault, once }) |artefact| installForTests(b, step, artefact);
    for (std.enums.values(NvmlEdition)) |edition| addNvmlStandIn(b, step, target, optimize, edition);

    if (hasVerbsHeader(b)) {
        const bare_loop = addCProgram(b, "bare_loop", target, stub);
        // After the headers of the target's own C library.
        bare_loop.root_module.addAfterIncludePath(.{ .cwd_relative = "/usr/include" });
        installForTests(b, step, bare_loop);
    } else {
        step.dependOn(sayMissingHeader(b, "zig-out/test/bare_loop is not built"));
    }
}

/// Which symbols the stand-in for NVIDIA's management library has.
const NvmlEdition = enum { current, old, broken };

fn addNvmlStandIn(b: *std.Build, step: *std.Build.Step, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode, edition: NvmlEdition) void {
    const standin = b.addLibrary(.{
        .name = b.fmt("nvidia-ml-{s}", .{@tagName(edition)}),
        .linkage = .dynamic,
        .root_module = b.createModule(.{
            .root_source_file = b.path("zig/nvml_standin.zig"),
            .target = target,
            .optimize = optimize,
            .link_libc = true,
            .strip = true,
        }),
    });
    const options = b.addOptions();
    options.addOption(NvmlEdition, "edition", edition);
    standin.root_module.addOptions("options", options);
    const folder = if (edition == .current) "test/nvml" else b.fmt("test/nvml-{s}", .{@tagName(edition)});
    step.dependOn(&b.addInstallFileWithDir(standin.getEmittedBin(), .{ .custom = folder }, "libnvidia-ml.so.1").step);
}

fn addCProgram(b: *std.Build, name: []const u8, target: std.Build.ResolvedTarget, stub: *std.Build.Step.Compile) *std.Build.Step.Compile {
    const program = b.addExecutable(.{
        .name = name,
        .root_module = b.createModule(.{ .target = target, .optimize = .ReleaseFast, .link_libc = true, .strip = true }),
    });
    program.root_module.addCSourceFile(.{
        .file = b.path(b.fmt("zig/testing/{s}.c", .{name})),
        .flags = &.{ "-std=c11", "-Wall", "-Wextra", "-Werror" },
    });
    // As a file, not as a library: at run time the system's one must be found, so no path of the stub may stay.
    program.root_module.addObjectFile(stub.getEmittedBin());
    program.each_lib_rpath = false;
    return program;
}

fn installForTests(b: *std.Build, step: *std.Build.Step, artefact: *std.Build.Step.Compile) void {
    step.dependOn(&b.addInstallArtifact(artefact, .{ .dest_dir = .{ .override = .{ .custom = "test" } } }).step);
}

const verbs_header = "/usr/include/infiniband/verbs.h";

fn hasVerbsHeader(b: *std.Build) bool {
    std.Io.Dir.cwd().access(b.graph.io, verbs_header, .{}) catch return false;
    return true;
}

fn sayMissingHeader(b: *std.Build, consequence: []const u8) *std.Build.Step {
    return &b.addSystemCommand(&.{ "echo", b.fmt("MISSING {s} (Debian: libibverbs-dev): {s}", .{ verbs_header, consequence }) }).step;
}

/// In Debug, which builds ten times faster; the Go tests run over the fake archive as it would ship.
fn addTests(b: *std.Build, target: std.Build.ResolvedTarget) void {
    const step = b.step("test", "Run the Zig tests");
    const tests = b.addTest(.{ .root_module = b.createModule(.{
        .root_source_file = b.path("zig/tests.zig"),
        .target = target,
        .optimize = .Debug,
        .link_libc = true,
    }) });
    tests.root_module.addIncludePath(b.path("zig/include"));
    tests.root_module.addAnonymousImport("hostping.h", .{ .root_source_file = b.path("zig/include/hostping.h") });
    step.dependOn(&b.addRunArtifact(tests).step);

    // The native target, since only that one finds the system's headers.
    if (hasVerbsHeader(b)) {
        const layout = b.addTest(.{ .name = "verbs-layout", .root_module = b.createModule(.{
            .root_source_file = b.path("zig/verbs_layout_tests.zig"),
            .target = b.resolveTargetQuery(.{}),
            .optimize = .Debug,
            .link_libc = true,
        }) });
        step.dependOn(&b.addRunArtifact(layout).step);
    } else {
        step.dependOn(sayMissingHeader(b, "the layouts of zig/src/verbs.zig are not tested"));
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
