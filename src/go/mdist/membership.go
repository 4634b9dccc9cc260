// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"time"
)

// Verdict is what all workers are to do after a step.
type Verdict int32

// Verdicts.
const (
	GoOn         Verdict = C.MDIST_VERDICT_GO_ON
	SaveAndOn    Verdict = C.MDIST_VERDICT_SAVE    // save and go on: there is grace left
	SaveAndEnd   Verdict = C.MDIST_VERDICT_END     // save and end the program
	RegroupAndOn Verdict = C.MDIST_VERDICT_REGROUP // Commit and Regroup, in an elastic job
)

// Leave says that this worker must leave: call it with what os/signal's channel gives, from any goroutine. grace is the
// time from now to the end of the machine; 0 or less: end at once.
func (s *Strategy) Leave(grace time.Duration) {
	if grace < 0 {
		grace = 0
	}
	C.mdist_membership_leave(s.handle, C.uint64_t(grace))
	runtime.KeepAlive(s)
}

// CheckMembership asks all workers, which all call it, what to do next. The verdict is the same on all; rank is that of
// the worker that has said that it leaves, -1 if none has.
func (s *Strategy) CheckMembership() (verdict Verdict, rank int, err error) {
	var found C.int32_t
	var leaver C.uint32_t
	var story *C.mdist_error_t
	err = check(C.mdist_membership_check(s.handle, &found, &leaver, nil, &story), &story)
	runtime.KeepAlive(s)
	return Verdict(found), orNone(leaver), err
}
