// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"time"
)

// Work is a collective under way. It moves on inside the calls of the replicas that take part in it, Test and Wait
// among them; a replica may have several. Its buffers are the operation's until it is done, failed, or closed.
type Work struct {
	handle  *C.mdist_work_t
	buffers [2][]Buffer // alive as long as the operation
}

// StartAllReduce is Replica.AllReduce, started. The buffers must be memory of the library.
func (r *Replica) StartAllReduce(op ReduceOp, buffers ...Buffer) (*Work, error) {
	return r.start(reduction(C.MDISTGO_ALL_REDUCE, op), buffers, buffers)
}

// StartBroadcast is Replica.Broadcast, started.
func (r *Replica) StartBroadcast(root int, buffers ...Buffer) (*Work, error) {
	what, err := rooted(C.MDISTGO_BROADCAST, root)
	if err != nil {
		return nil, err
	}
	return r.start(what, buffers, buffers)
}

// StartAllGather is Replica.AllGather, started.
func (r *Replica) StartAllGather(inputs, outputs []Buffer) (*Work, error) {
	return r.start(C.mdistgo_operation{kind: C.MDISTGO_ALL_GATHER}, inputs, outputs)
}

// StartReduceScatter is Replica.ReduceScatter, started.
func (r *Replica) StartReduceScatter(op ReduceOp, inputs, outputs []Buffer) (*Work, error) {
	return r.start(reduction(C.MDISTGO_REDUCE_SCATTER, op), inputs, outputs)
}

// StartAllToAll is Replica.AllToAll, started.
func (r *Replica) StartAllToAll(inputs, outputs []Buffer) (*Work, error) {
	return r.start(C.mdistgo_operation{kind: C.MDISTGO_ALL_TO_ALL}, inputs, outputs)
}

// StartBarrier is Replica.Barrier, started.
func (r *Replica) StartBarrier() (*Work, error) {
	return r.start(C.mdistgo_operation{kind: C.MDISTGO_BARRIER}, nil, nil)
}

func (r *Replica) start(what C.mdistgo_operation, in, out []Buffer) (*Work, error) {
	if len(in) != len(out) {
		return nil, &Error{Status: ErrInvalidArgument, Replica: r.ID(), message: unequal(len(in), len(out))}
	}
	if !allLibrary(in) || !allLibrary(out) {
		return nil, &Error{Status: ErrInvalidArgument, Replica: r.ID(), message: "a started collective was given a " +
			"slice of Go, which C must not keep: its buffers must come from mdist.Alloc or a variable"}
	}
	inList := byAddress(in)
	outList := inList
	if first(in) != first(out) {
		outList = byAddress(out)
	}
	work := &Work{buffers: [2][]Buffer{in, out}}
	var story *C.mdist_error_t
	err := check(C.mdistgo_collect(r.with(what), r.handle, first(inList), first(outList),
		C.size_t(len(in)), &work.handle, &story), &story)
	runtime.KeepAlive(r.group)
	return work.started(err)
}

func (w *Work) started(err error) (*Work, error) {
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(w, (*Work).Close)
	return w, nil
}

// Test moves the operation on as far as that goes without waiting, and says whether it is done. A goroutine that has
// nothing else to do may call runtime.Gosched in between: waiting like this keeps no thread.
func (w *Work) Test() (done bool, err error) {
	var flag C.int32_t
	var story *C.mdist_error_t
	err = check(C.mdist_work_test(w.handle, &flag, &story), &story)
	runtime.KeepAlive(w)
	return flag != 0, err
}

// Wait waits until the operation is done or failed. The strategy's own timeout counts from the start.
func (w *Work) Wait() error {
	_, err := w.wait(C.MDIST_FOREVER)
	return err
}

// WaitFor is Wait, but for so long at most; done says which.
func (w *Work) WaitFor(timeout time.Duration) (done bool, err error) {
	if timeout < 0 {
		timeout = 0
	}
	return w.wait(C.uint64_t(timeout))
}

func (w *Work) wait(nanoseconds C.uint64_t) (done bool, err error) {
	var flag C.int32_t
	var story *C.mdist_error_t
	err = check(C.mdist_work_wait(w.handle, nanoseconds, &flag, &story), &story)
	runtime.KeepAlive(w)
	return flag != 0, err
}

// OnDone calls a function once when the operation is over: with nil, or with the Status of the error that Test returns
// from then on. That is at once if it is over already, else on any thread, before the step of its replica has ended. The
// function may test works, but must not wait. A panic in it is dropped.
func (w *Work) OnDone(function func(err error)) error {
	if function == nil {
		return invalid("OnDone was given no function")
	}
	state := cgo.NewHandle(function)
	var story *C.mdist_error_t
	err := check(C.mdistgo_work_on_done(w.handle, C.uintptr_t(state), &story), &story)
	runtime.KeepAlive(w)
	if err != nil {
		state.Delete()
	}
	return err
}

//export mdistgoDone
func mdistgoDone(status C.mdist_status_t, state C.uintptr_t) {
	function := cgo.Handle(state).Value().(func(error))
	cgo.Handle(state).Delete()
	defer func() { _ = recover() }()
	if status == C.MDIST_OK {
		function(nil)
	} else {
		function(Status(status))
	}
}

// Descriptor returns a new file descriptor for poll and its kin, the caller's to close: call Test whenever it is
// readable, and go on polling if that says false. Never read from it.
func (w *Work) Descriptor() (int, error) {
	var descriptor C.int32_t
	var story *C.mdist_error_t
	err := check(C.mdist_work_descriptor(w.handle, &descriptor, &story), &story)
	runtime.KeepAlive(w)
	return int(descriptor), err
}

// Close frees the work. One that is not done is finished if all replicas have come, else given up, which fails the step
// for all others.
func (w *Work) Close() {
	runtime.SetFinalizer(w, nil)
	C.mdist_work_destroy(w.handle)
	w.buffers = [2][]Buffer{}
}

func unequal(inputs, outputs int) string {
	return fmt.Sprintf("%d input buffers and %d output buffers; pass one output per input", inputs, outputs)
}
