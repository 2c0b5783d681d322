//go:build cgo && linux && fakeverbs

package native

// The scripted provider stands in for libibverbs; HOSTPING_FAKE_VERBS holds its script (zig/testing/fake_verbs.zig).

// #cgo LDFLAGS: ${SRCDIR}/../../zig-out/test/libhostping_fake.a -ldl
import "C"
