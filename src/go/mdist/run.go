// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
)

// Step is your computation, called once per local replica, on all at the same time. Returning an error, or panicking,
// fails the run and releases all other replicas.
type Step func(replica *Replica) error

// stepCall is what a run of the library calls back with.
type stepCall struct {
	failures
	strategy *Strategy
	step     Step
}

// Run runs a step on every local replica and returns when all have returned: replica 0 on this goroutine, which stays
// on its thread meanwhile, the others on threads of the library. (With `executor: caller` all run here, one after
// another.) It returns the results that the steps set, nil for one that nobody did.
//
// A step that loops for long without calling a function may hold up the garbage collector meanwhile, for Go cannot
// always interrupt a thread that is not its own. RunGoroutines has no such threads.
//
// The arguments are what steps read by Replica.Argument: each replica sees its own tensor of a per-replica or mirrored
// value, and all see the one of a plain value.
func (r *Runner) Run(step Step, arguments ...*Value) ([]*Value, error) {
	call := &stepCall{strategy: r.strategy, step: step}
	state := cgo.NewHandle(call)
	defer state.Delete()
	handles, results := valueHandles(arguments), make([]*C.mdist_value_t, r.results)
	var story *C.mdist_error_t
	err := check(C.mdistgo_run(r.strategy.handle, C.uintptr_t(state), first(handles), C.size_t(len(handles)),
		first(results), C.size_t(len(results)), r.timeout, &story), &story)
	runtime.KeepAlive(arguments)
	runtime.KeepAlive(r)
	if err != nil {
		return nil, call.explain(err)
	}
	return resultValues(results), nil
}

//export mdistgoStep
func mdistgoStep(replica *C.mdist_replica_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*stepCall)
	return call.callBack(func() error {
		return call.step(&Replica{handle: replica, strategy: call.strategy, failures: &call.failures})
	})
}

// resultValues leaves out the results at the end that nobody set.
func resultValues(handles []*C.mdist_value_t) []*Value {
	for len(handles) > 0 && handles[len(handles)-1] == nil {
		handles = handles[:len(handles)-1]
	}
	return newValues(handles)
}
