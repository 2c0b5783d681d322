package native

import "syscall"

// Limits of the counter readers, from the ABI.
const (
	// CounterTextBytes of a file that holds no number are kept, terminating zero included.
	CounterTextBytes = 48
	// CounterFilesMax is how many files one handle may hold open.
	CounterFilesMax = 4096
)

// CounterState is what a counter's file had to say.
type CounterState uint32

const (
	// CounterAbsent: the file cannot be read; Errno says why.
	CounterAbsent CounterState = 0
	// CounterNumber: Value holds the number.
	CounterNumber CounterState = 1
	// CounterText: the file holds something else than one number ("N/A (no PMA)", "4: ACTIVE"); Text has it.
	CounterText CounterState = 2
)

// CounterValue is one reading of one file. It has the layout of hp_counter_value.
type CounterValue struct {
	// Value counts only with CounterNumber.
	Value uint64
	State CounterState
	errno int32
	text  [CounterTextBytes]byte
}

// Number is the value, if the file holds one.
func (v *CounterValue) Number() (uint64, bool) { return v.Value, v.State == CounterNumber }

// Errno is why the file could not be read, 0 unless the state is CounterAbsent.
func (v *CounterValue) Errno() syscall.Errno { return syscall.Errno(v.errno) }

// Text is the beginning of a file that holds no number, without surrounding blanks. It allocates.
func (v *CounterValue) Text() string {
	for i, char := range v.text {
		if char == 0 {
			return string(v.text[:i])
		}
	}
	return string(v.text[:])
}
