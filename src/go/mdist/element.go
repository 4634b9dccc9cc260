// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
)

// ElementFunc computes one element of Strategy.Map as a step does: it reads arguments and sets results, the same for
// every element. No collectives and merges: replicas have different numbers of elements.
type ElementFunc func(replica *Replica, element int) error

// elementCall is what a map of the library calls back with.
type elementCall struct {
	failures
	strategy *Strategy
	element  ElementFunc
}

// Map calls a function for elements 0 to elements - 1, element i on replica i mod ReplicaCount, all replicas of the job
// at the same time; the rest is as with Run. Results are stacked, a row for each element of a replica, so that Reduce
// over axis 0 takes all elements together.
func (r *Runner) Map(elements int, element ElementFunc, arguments ...*Value) ([]*Value, error) {
	number, err := count("elements", elements)
	if err != nil {
		return nil, err
	}
	call := &elementCall{strategy: r.strategy, element: element}
	state := cgo.NewHandle(call)
	defer state.Delete()
	handles, results := valueHandles(arguments), make([]*C.mdist_value_t, r.results)
	var story *C.mdist_error_t
	err = check(C.mdistgo_map(r.strategy.handle, number, C.uintptr_t(state), first(handles), C.size_t(len(handles)),
		first(results), C.size_t(len(results)), r.timeout, &story), &story)
	runtime.KeepAlive(arguments)
	runtime.KeepAlive(r)
	if err != nil {
		return nil, call.explain(err)
	}
	return resultValues(results), nil
}

//export mdistgoElement
func mdistgoElement(replica *C.mdist_replica_t, number C.uint64_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*elementCall)
	return call.callBack(func() error {
		return call.element(&Replica{handle: replica, strategy: call.strategy, failures: &call.failures}, int(number))
	})
}

// valueCall is what a function that makes one value is called back with.
type valueCall struct {
	failures
	make func(id, count int) (*Value, error)
}

// ValuesFromFunction calls a function for each local replica, one after another, and regroups what it returns, which
// stays the function's: a per-replica value, or a structure of such.
func (s *Strategy) ValuesFromFunction(function func(id, count int) (*Value, error)) (*Value, error) {
	call := &valueCall{make: function}
	state := cgo.NewHandle(call)
	defer state.Delete()
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdistgo_values_from_function(s.handle, C.uintptr_t(state), &handle, &story), &story)
	runtime.KeepAlive(s)
	return newValue(handle), call.explain(err)
}

//export mdistgoValue
func mdistgoValue(id, count C.uint32_t, out **C.mdist_value_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*valueCall)
	return call.callBack(func() error {
		made, err := call.make(int(id), int(count))
		if err != nil {
			return err
		}
		return handOver([]*Value{made}, out)
	})
}

// FetchFunc makes a plain value, which stays its own, of what is fetched, where that lies.
type FetchFunc func(source Tensor) (*Value, error)

type fetchCall struct {
	failures
	fetch FetchFunc
}

// Fetch brings the content of a plain or mirrored value, or what fetch makes of it if that is not nil, to the device of
// that name; "": into memory of the host.
func (s *Strategy) Fetch(value *Value, destination string, fetch FetchFunc) (*Value, error) {
	name, err := cText("the destination", destination)
	if err != nil {
		return nil, err
	}
	defer freeText(name)
	call := &fetchCall{fetch: fetch}
	var state cgo.Handle
	if fetch != nil {
		state = cgo.NewHandle(call)
		defer state.Delete()
	}
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err = check(C.mdistgo_fetch(s.handle, value.handle, name, C.uintptr_t(state), &handle, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(value)
	return newValue(handle), call.explain(err)
}

//export mdistgoFetch
func mdistgoFetch(source *C.mdist_tensor_t, out **C.mdist_value_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*fetchCall)
	return call.callBack(func() error {
		made, err := call.fetch(libraryTensor(source, nil))
		if err != nil {
			return err
		}
		return handOver([]*Value{made}, out)
	})
}
