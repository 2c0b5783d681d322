//! Root of the test-only archive: the same C ABI over the scripted provider. Never shipped.

const c_api = @import("src/c_api.zig");
const fake_verbs = @import("testing/fake_verbs.zig");

pub const panic = c_api.panic;

comptime {
    c_api.exportOver(&fake_verbs.table_from_environment);
}

/// Verbs objects that exist now.
export fn hp_fake_census() i32 {
    return fake_verbs.census().total();
}
