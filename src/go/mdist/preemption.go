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
	GoOn       Verdict = C.MDIST_PREEMPTION_GO_ON
	SaveAndOn  Verdict = C.MDIST_PREEMPTION_SAVE // save and go on: there is grace left
	SaveAndEnd Verdict = C.MDIST_PREEMPTION_END  // save and end the program
)

// Preemption is where a worker is told to go, so that all save at the same step: Announce what os/signal's channel
// gives, and Check after every step.
type Preemption struct{ handle *C.mdist_preemption_t }

// NewPreemption makes it, with the time between an announcement and the end of the machine; 0: end at once.
func (s *Strategy) NewPreemption(grace time.Duration) (*Preemption, error) {
	nanoseconds, err := count("grace", int(grace))
	if err != nil {
		return nil, err
	}
	preemption := &Preemption{}
	var story *C.mdist_error_t
	err = check(C.mdistgo_preemption_create(s.handle, nanoseconds, &preemption.handle, &story), &story)
	runtime.KeepAlive(s)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(preemption, (*Preemption).Close)
	return preemption, nil
}

// Announce says that this worker is to go. From any goroutine, at any time.
func (p *Preemption) Announce() {
	C.mdist_preemption_announce(p.handle)
	runtime.KeepAlive(p)
}

// Check asks all workers, which all call it, whether any was told to go. The verdict is the same on all; worker is the
// rank of the one that is to go, -1 if none.
func (p *Preemption) Check() (verdict Verdict, worker int, err error) {
	var found C.int32_t
	var rank C.uint32_t
	var story *C.mdist_error_t
	err = check(C.mdist_preemption_check(p.handle, &found, &rank, nil, &story), &story)
	runtime.KeepAlive(p)
	return Verdict(found), orNone(rank), err
}

// Close frees it.
func (p *Preemption) Close() {
	runtime.SetFinalizer(p, nil)
	C.mdist_preemption_destroy(p.handle)
}
