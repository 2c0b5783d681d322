package report

import (
	"fmt"
	"strings"

	"github.com/yuuki/hostping/internal/diagnosis"
)

// Earlier is what one of several consecutive runs blamed before the last one,
// whose report is the answer.
type Earlier struct {
	Run, Runs int // the Run-th of Runs
	Diagnoses []diagnosis.Diagnosis
}

// maxEarlier is how many runs are told of, the latest of them.
const maxEarlier = 8

// earlier tells of the runs before this one that blamed something, a line each.
func (t *textWriter) earlier(runs []Earlier) {
	if len(runs) == 0 {
		return
	}
	t.line("")
	if more := len(runs) - maxEarlier; more > 0 {
		t.line("%s before these blamed something too", count(more, "run"))
		runs = runs[more:]
	}
	for _, x := range runs {
		blamed := make([]string, len(x.Diagnoses))
		for i, d := range x.Diagnoses {
			blamed[i] = fmt.Sprintf("%s (%s)", d.Component, d.Code)
		}
		t.b.WriteString(t.style.Wrap(fmt.Sprintf("run %d of %d blamed ", x.Run, x.Runs), "  ", strings.Join(blamed, ", ")))
	}
}
