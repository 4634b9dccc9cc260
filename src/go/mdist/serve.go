// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"errors"
	"runtime"
)

// Steps and updates by name. With the configuration `strategy: in_graph`, worker 0 runs them for the replicas of all
// workers, and the others serve.
//
// A strategy that has names stays until it is closed.

var errStrategyClosed = errors.New("the strategy was closed while it ran a function by name")

// namedCall is what a function under a name is called back with.
type namedCall struct {
	strategy *Strategy
	step     Step
	update   UpdateResultsFunc
}

// RegisterStep registers a step under a name for RunNamed. The last registration of a name counts. With
// `strategy: in_graph`, all workers register the same names before they serve.
func (s *Strategy) RegisterStep(name string, step Step) error {
	return s.register(name, &namedCall{strategy: s, step: step},
		func(text *C.char, state C.uintptr_t, story **C.mdist_error_t) C.mdist_status_t {
			return C.mdistgo_step_register(s.handle, text, state, story)
		})
}

// RegisterUpdate registers an update under a name for UpdateNamed. Without a variable it gets the zero Tensor.
func (s *Strategy) RegisterUpdate(name string, update UpdateResultsFunc) error {
	return s.register(name, &namedCall{strategy: s, update: update},
		func(text *C.char, state C.uintptr_t, story **C.mdist_error_t) C.mdist_status_t {
			return C.mdistgo_update_register(s.handle, text, state, story)
		})
}

func (s *Strategy) register(name string, call *namedCall,
	register func(*C.char, C.uintptr_t, **C.mdist_error_t) C.mdist_status_t) error {
	text, err := cText("the name", name)
	if err != nil {
		return err
	}
	defer freeText(text)
	number := lasting.add(call)
	var story *C.mdist_error_t
	if err := check(register(text, C.uintptr_t(number), &story), &story); err != nil {
		lasting.remove(number)
		return err
	}
	s.lock.Lock()
	s.named = append(s.named, number)
	s.lock.Unlock()
	return nil
}

// RunNamed runs the step that is registered under a name, as Run does; on a client, on the replicas of all workers.
func (r *Runner) RunNamed(name string, arguments ...*Value) ([]*Value, error) {
	text, err := cText("the name", name)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	handles, results := valueHandles(arguments), make([]*C.mdist_value_t, r.results)
	var story *C.mdist_error_t
	err = check(C.mdistgo_run_named(r.strategy.handle, text, first(handles), C.size_t(len(handles)), first(results),
		C.size_t(len(results)), r.timeout, &story), &story)
	runtime.KeepAlive(arguments)
	if err != nil {
		return nil, r.strategy.explainNamed(err)
	}
	return resultValues(results), nil
}

// UpdateNamed updates a variable with the update that is registered under a name, as UpdateResults does, or for nil what
// belongs to no variable; on a client, the copies of all workers.
func (s *Strategy) UpdateNamed(variable *Variable, name string, results int, arguments ...*Value) ([]*Value, error) {
	if _, err := count("results", results); err != nil {
		return nil, err
	}
	text, err := cText("the name", name)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	var handle *C.mdist_variable_t
	if variable != nil {
		handle = variable.handle
	}
	handles, made := valueHandles(arguments), make([]*C.mdist_value_t, results)
	var story *C.mdist_error_t
	err = check(C.mdistgo_update_named(s.handle, handle, text, first(handles), C.size_t(len(handles)), first(made),
		C.size_t(results), &story), &story)
	runtime.KeepAlive(variable)
	runtime.KeepAlive(arguments)
	if err != nil {
		return nil, s.explainNamed(err)
	}
	return newValues(made), nil
}

// Serve does what the client (worker 0) asks, until the client closes its strategy. With `strategy: in_graph`, the other
// workers call it.
func (s *Strategy) Serve() error {
	var story *C.mdist_error_t
	if err := check(C.mdist_serve(s.handle, nil, &story), &story); err != nil {
		return s.explainNamed(err)
	}
	return nil
}

// explainNamed is failures.explain for functions by name, whose failures are forgotten then.
func (s *Strategy) explainNamed(err error) error {
	err = s.namedFailures.explain(err)
	s.namedFailures.lock.Lock()
	s.namedFailures.errors = nil
	s.namedFailures.lock.Unlock()
	return err
}

// FindVariable finds a variable by its name, whoever made it; also in a step. It gives a Variable of its own.
func (s *Strategy) FindVariable(name string) (*Variable, error) {
	text, err := cText("the name", name)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	var handle *C.mdist_variable_t
	var story *C.mdist_error_t
	if err := check(C.mdist_variable_named(s.handle, text, &handle, &story), &story); err != nil {
		return nil, err
	}
	return s.own(handle), nil
}

//export mdistgoNamedStep
func mdistgoNamedStep(replica *C.mdist_replica_t, number C.uintptr_t) C.int32_t {
	call, found := lasting.find(uintptr(number)).(*namedCall)
	if !found {
		return (&failures{}).callBack(func() error { return errStrategyClosed })
	}
	failures := &call.strategy.namedFailures
	return failures.callBack(func() error {
		return call.step(&Replica{handle: replica, strategy: call.strategy, failures: failures})
	})
}

//export mdistgoNamedUpdate
func mdistgoNamedUpdate(local C.uint32_t, variable, arguments *C.mdist_tensor_t, count C.size_t,
	results **C.mdist_value_t, resultCount C.size_t, number C.uintptr_t) C.int32_t {
	call, found := lasting.find(uintptr(number)).(*namedCall)
	if !found {
		return (&failures{}).callBack(func() error { return errStrategyClosed })
	}
	return updateCopy(&call.strategy.namedFailures, call.update, local, variable, arguments, count, results, resultCount)
}
