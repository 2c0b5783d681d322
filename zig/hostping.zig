//! Root of the shipped library: the C ABI over the real libibverbs.

const c_api = @import("src/c_api.zig");

pub const panic = c_api.panic;

comptime {
    c_api.exportOver(&@import("src/verbs.zig").libibverbs);
}
