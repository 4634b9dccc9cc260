// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
)

// Loop takes outputs while Strategy.RunSteps runs, and has them afterwards. The last one that is set at a path counts.
type Loop struct {
	handle *C.mdist_loop_t
}

// LoopFunc processes one element of a loop, which dies with the call.
type LoopFunc func(loop *Loop, element *Value) error

// loopCall is what a loop of the library calls back with.
type loopCall struct {
	failures
	function LoopFunc
}

// RunSteps calls a function for the next elements of an iterator, `iterations` (or Forever) at most, on this goroutine, and returns
// the loop with its outputs. Each element is one value, a structure if it has several components. All workers call it
// together. If initial is not nil, it is a structure of the outputs before any was set; then no others may be set.
func (s *Strategy) RunSteps(iterator *Iterator, iterations int, initial *Value, function LoopFunc) (*Loop, error) {
	number, err := count("iterations", iterations)
	if err != nil {
		return nil, err
	}
	var first *C.mdist_value_t
	if initial != nil {
		first = initial.handle
	}
	call := &loopCall{function: function}
	call.lookIn(iterator.failures)
	state := cgo.NewHandle(call)
	defer state.Delete()
	loop := &Loop{}
	var story *C.mdist_error_t
	err = check(C.mdistgo_run_steps(s.handle, iterator.handle, number, C.uintptr_t(state), first, &loop.handle, &story),
		&story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(iterator)
	runtime.KeepAlive(initial)
	if err != nil {
		return nil, call.explain(err)
	}
	runtime.SetFinalizer(loop, (*Loop).Close)
	return loop, nil
}

//export mdistgoLoop
func mdistgoLoop(loop *C.mdist_loop_t, element *C.mdist_value_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*loopCall)
	return call.callBack(func() error { return call.function(&Loop{loop}, &Value{element}) }) // the library closes these
}

// SetOutput sets an output outside of steps. With AggregateNone it is kept as it is.
func (l *Loop) SetOutput(path string, value *Value, aggregation Aggregation) error {
	text, err := cText("the path", path)
	if err != nil {
		return err
	}
	defer freeText(text)
	var story *C.mdist_error_t
	err = check(C.mdist_loop_set_output(l.handle, text, value.handle, C.mdist_aggregation_t(aggregation), &story), &story)
	runtime.KeepAlive(l)
	runtime.KeepAlive(value)
	return err
}

// SetOutput sets this replica's part of an output to a copy of a tensor. Every replica sets the same paths with the same
// aggregation, which is not AggregateNone.
func (r *Replica) SetOutput(loop *Loop, path string, tensor Tensor, aggregation Aggregation) error {
	text, err := cText("the path", path)
	if err != nil {
		return err
	}
	defer freeText(text)
	var story *C.mdist_error_t
	err = check(C.mdistgo_set_output(r.handle, loop.handle, text, tensor.c(), C.int32_t(aggregation), &story), &story)
	runtime.KeepAlive(loop)
	runtime.KeepAlive(tensor.owner)
	return err
}

// Outputs gives the outputs of a loop that is over, as a structure.
func (l *Loop) Outputs() (*Value, error) {
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdist_loop_outputs(l.handle, &handle, &story), &story)
	runtime.KeepAlive(l)
	return newValue(handle), err
}

// Iterations returns how many elements are done.
func (l *Loop) Iterations() int {
	defer runtime.KeepAlive(l)
	return int(C.mdist_loop_iterations(l.handle))
}

// Close frees a loop that is over.
func (l *Loop) Close() {
	runtime.SetFinalizer(l, nil)
	C.mdist_loop_destroy(l.handle)
}
