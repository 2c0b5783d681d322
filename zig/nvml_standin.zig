//! Root of the stand-in for NVIDIA's management library. Never shipped.

comptime {
    @import("testing/nvml_standin.zig").exportAs(@import("options").edition);
}
