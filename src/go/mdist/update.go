// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// UpdateFunc changes one copy of a variable: its memory, and for each argument the tensor that belongs to it. They die
// with the call.
type UpdateFunc func(local int, variable Tensor, arguments []Tensor) error

// UpdateResultsFunc is an UpdateFunc that also gives plain values, nil for one that nobody gets. They stay the
// function's.
type UpdateResultsFunc func(local int, variable Tensor, arguments []Tensor) ([]*Value, error)

// updateCall is what an update of the library calls back with.
type updateCall struct {
	failures
	update UpdateResultsFunc
}

// Update calls a function for each local copy, one after another, on this goroutine. It stops at the first failure.
func (v *Variable) Update(update UpdateFunc, arguments ...*Value) error {
	_, err := v.UpdateResults(0, withoutResults(update), arguments...)
	return err
}

// UpdateResults is Update, and returns what the functions gave, regrouped.
func (v *Variable) UpdateResults(results int, update UpdateResultsFunc, arguments ...*Value) ([]*Value, error) {
	defer runtime.KeepAlive(v)
	return v.strategy.update(v.handle, results, update, arguments)
}

// UpdateDevices is UpdateResults for state that belongs to no variable, such as an optimizer's step counter: it calls a
// function for each local device, with the zero Tensor for the variable.
func (s *Strategy) UpdateDevices(results int, update UpdateResultsFunc, arguments ...*Value) ([]*Value, error) {
	return s.update(nil, results, update, arguments)
}

func withoutResults(update UpdateFunc) UpdateResultsFunc {
	return func(local int, variable Tensor, arguments []Tensor) ([]*Value, error) {
		return nil, update(local, variable, arguments)
	}
}

func (s *Strategy) update(variable *C.mdist_variable_t, results int, update UpdateResultsFunc,
	arguments []*Value) ([]*Value, error) {
	if _, err := count("results", results); err != nil {
		return nil, err
	}
	call := &updateCall{update: update}
	state := cgo.NewHandle(call)
	defer state.Delete()
	handles, made := valueHandles(arguments), make([]*C.mdist_value_t, results)
	var story *C.mdist_error_t
	err := check(C.mdistgo_update(s.handle, variable, C.uintptr_t(state), first(handles), C.size_t(len(handles)),
		first(made), C.size_t(results), &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(arguments)
	if err != nil {
		return nil, call.explain(err)
	}
	return newValues(made), nil
}

//export mdistgoUpdate
func mdistgoUpdate(local C.uint32_t, variable, arguments *C.mdist_tensor_t, count C.size_t,
	results **C.mdist_value_t, resultCount C.size_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*updateCall)
	return updateCopy(&call.failures, call.update, local, variable, arguments, count, results, resultCount)
}

func updateCopy(failures *failures, update UpdateResultsFunc, local C.uint32_t, variable, arguments *C.mdist_tensor_t,
	count C.size_t, results **C.mdist_value_t, resultCount C.size_t) C.int32_t {
	return failures.callBack(func() error {
		var own Tensor
		if variable != nil {
			own = libraryTensor(variable, nil)
		}
		given := make([]*Value, resultCount)
		made, err := update(int(local), own, libraryTensors(arguments, count))
		if err = fill(given, made, err); err != nil {
			return err
		}
		return handOver(given, results)
	})
}

func libraryTensors(list *C.mdist_tensor_t, count C.size_t) []Tensor {
	tensors := make([]Tensor, count)
	for i := range tensors {
		tensors[i] = libraryTensor(&unsafe.Slice(list, count)[i], nil)
	}
	return tensors
}

// handOver gives the library handles of its own to what a function returned, whose values go on being the function's.
func handOver(given []*Value, results **C.mdist_value_t) (err error) {
	for i, value := range given {
		if value == nil {
			continue
		}
		if unsafe.Slice(results, len(given))[i], err = value.at(""); err != nil {
			return err // the library frees those before
		}
	}
	return nil
}
