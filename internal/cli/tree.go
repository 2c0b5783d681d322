package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/yuuki/hostping/internal/capture"
	"github.com/yuuki/hostping/internal/discover"
)

// treeFlags say how a real host is discovered, and from which files: without --sysfs
// from those of this host.
type treeFlags struct {
	sysfs, procfs string
	softwareRNICs bool
	memoryNodes   memoryNodesFlag
}

func (f *treeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.sysfs, "sysfs", "", "discover from this folder instead of /sys, or from a file that topology --capture wrote (then neither /dev nor any library is consulted)")
	cmd.Flags().StringVar(&f.procfs, "procfs", "", "discover from this folder instead of /proc")
	_ = cmd.MarkFlagFilename("sysfs")
	_ = cmd.MarkFlagDirname("procfs")
	cmd.Flags().BoolVar(&f.softwareRNICs, "software-rnics", false, "treat soft-RoCE devices as usable")
	f.memoryNodes.add(cmd)
}

// refuse refuses those of the flags that were given, in a command where only
// a made-up host is shown.
func (f *treeFlags) refuse(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			return wrongFlagf(name, "", " is about a real host, --sim makes one up; use one of them")
		}
	}
	return nil
}

// options are those of discovery.
func (f *treeFlags) options() (discover.Options, error) {
	o := discover.Options{
		Sysfs: f.sysfs, Procfs: f.procfs, SoftwareRNICs: f.softwareRNICs, AllMemoryNodes: f.memoryNodes.all(),
	}
	if f.procfs != "" {
		if info, err := os.Stat(f.procfs); err != nil {
			return o, wrongFlagf("procfs", f.procfs, " cannot be read: %w", withoutPath(err))
		} else if !info.IsDir() {
			return o, wrongFlagf("procfs", f.procfs, " is no folder; name a copy of /proc")
		}
	}
	if f.sysfs == "" {
		return o, nil
	}
	info, err := os.Stat(f.sysfs)
	switch {
	case err != nil:
		return o, wrongFlagf("sysfs", f.sysfs, " cannot be read: %w", withoutPath(err))
	case info.IsDir() && !isSysfs(f.sysfs):
		return o, wrongFlagf("sysfs", f.sysfs, " is no sysfs tree: it has none of class, devices and bus; name a copy of /sys, or a file that \"hostpingctl topology --capture\" wrote")
	case info.IsDir():
		return o, nil
	case !info.Mode().IsRegular():
		return o, wrongFlagf("sysfs", f.sysfs, " is neither a folder nor a file")
	case f.procfs != "":
		return o, wrongFlagf("procfs", f.procfs, ": the capture %s holds its own; leave --procfs out", quoteOdd(f.sysfs))
	}
	file, err := os.Open(f.sysfs)
	if err != nil {
		return o, wrongFlagf("sysfs", f.sysfs, " cannot be read: %w", withoutPath(err))
	}
	defer file.Close()
	archive, err := capture.Parse(file)
	if err != nil {
		return o, wrongFlagf("sysfs", f.sysfs, ": %w", withoutPath(err))
	}
	o.SysFiles, o.ProcFiles = archive.Files("sys"), archive.Files("proc")
	return o, nil
}

// isSysfs tells a copy of /sys, however sparse, from any other folder.
func isSysfs(folder string) bool {
	return slices.ContainsFunc([]string{"class", "devices", "bus"}, func(name string) bool {
		info, err := os.Stat(filepath.Join(folder, name))
		return err == nil && info.IsDir()
	})
}

// discover reads the host. The error has its exit status; where it says that the host
// has no RDMA device, the rest of the host is there all the same.
func (f *treeFlags) discover(o discover.Options) (discover.Host, error) {
	host, err := discover.Discover(o)
	switch {
	case errors.Is(err, discover.ErrNoRDMA):
		return host, environment(fmt.Errorf("%w; --sim shows a simulated host", err))
	case err != nil && f.sysfs != "":
		return host, wrongFlagf("sysfs", f.sysfs, ": %w", err)
	case err != nil:
		return host, environment(err)
	}
	return host, nil
}

// discoverRecorded is discover, and writes down what was read.
func (f *treeFlags) discoverRecorded(o discover.Options, env Env, out *output) (discover.Host, error) {
	if o.SysFiles == nil {
		sysfs, err := discover.OpenDir(cmp.Or(o.Sysfs, "/sys"))
		if err != nil {
			return discover.Host{}, environment(fmt.Errorf("cannot read sysfs: %w", err))
		}
		defer sysfs.Close()
		o.SysFiles = sysfs
		if o.Sysfs == "" {
			o.Procfs, o.Dev = cmp.Or(o.Procfs, "/proc"), "/dev"
		}
	}
	if o.ProcFiles == nil && o.Procfs != "" {
		if procfs, err := discover.OpenDir(o.Procfs); err == nil {
			defer procfs.Close()
			o.ProcFiles = procfs
		}
	}
	recorder := capture.NewRecorder()
	o.SysFiles = recorder.Record("sys", o.SysFiles)
	if o.ProcFiles != nil {
		o.ProcFiles = recorder.Record("proc", o.ProcFiles)
	}
	// With and without software RNICs, so that both can be asked of the archive.
	other := o
	other.SoftwareRNICs = !o.SoftwareRNICs
	_, _ = discover.Discover(other)
	_ = discover.Platform(o)
	host, failed := f.discover(o)

	archive, err := recorder.Archive()
	if err != nil {
		return host, environment(fmt.Errorf("cannot capture this host: %w", err))
	}
	names := []string{}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	archive = archive.Anonymise(names...)
	comment := fmt.Sprintf("What hostping %s read of a host. Addresses, GUIDs, serial numbers and names are replaced.", env.Build.Version)
	if err := out.write(func(w io.Writer) error { return archive.Write(w, comment) }); err != nil {
		return host, err
	}
	switch {
	case errors.Is(failed, discover.ErrNoRDMA): // the very host that somebody else should look at
		return host, environment(fmt.Errorf("%w; what was read is in %s", failed, quoteOdd(out.path)))
	case failed == nil:
		fmt.Fprintf(env.Stderr, "%d files and links are in %s, anonymised; look it through before you give it away\n", archive.Len(), quoteOdd(out.path))
	}
	return host, failed
}
