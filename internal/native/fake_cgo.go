//go:build cgo && linux && fakeverbs

package native

// #include <stdint.h>
// int32_t hp_fake_census(void);
import "C"

// FakeCensus counts the verbs objects that exist on the scripted provider.
func FakeCensus() int { return int(C.hp_fake_census()) }
