package native

// EthtoolStats is one reading of all statistics of a netdev. A caller keeps one and passes it to each Read, which reuses it.
type EthtoolStats struct {
	// Driver is the kernel driver's name ("mlx5_core"), as ETHTOOL_GDRVINFO gives it.
	Driver string
	// Names of the statistics, in the order of Values. A Read never changes the slice in place; with a new Generation it is another one.
	Names []string
	// Values are cumulative counts.
	Values []uint64
	// Generation rises whenever Names were read anew: the set of statistics changed, or another device has the name now. Values of two
	// generations must not be compared. It begins at 1.
	Generation uint64
}
