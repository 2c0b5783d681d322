//go:build cgo && linux && !fakeverbs

package native

// #cgo LDFLAGS: ${SRCDIR}/../../zig-out/lib/libhostping.a -L${SRCDIR}/../../zig-out/lib -libverbs -ldl
import "C"
