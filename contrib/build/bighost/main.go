// Command bighost writes the sysfs tree of a host with sixteen RNICs and eight
// GPUs into a folder, for measuring what it costs to watch one.
package main

import (
	"fmt"
	"os"

	"github.com/yuuki/hostping/internal/monitor/monitortest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "bighost: give the folder to write to")
		os.Exit(2)
	}
	tree, err := monitortest.BigHost()
	if err == nil {
		err = tree.Write(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bighost:", err)
		os.Exit(1)
	}
}
