//! Root of the test that needs the real infiniband/verbs.h.

test {
    _ = @import("testing/verbs_layout_test.zig");
}
