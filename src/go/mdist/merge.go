// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// MergeFunc runs once for all local replicas, outside of their steps: the strategy's methods are the right ones in it,
// Run too. The values are the replicas' tensors, regrouped; do not use them afterwards. It returns the results, each
// plain or with a tensor for each local replica; nil is a result nobody gets. They stay the function's, which may return
// them again another time.
type MergeFunc func(strategy *Strategy, values []*Value) ([]*Value, error)

// Merge pauses every local replica, calls local replica 0's function once, on its goroutine, and hands each replica its
// own part of the results, which stay until the replica's next merge or the end of its step. Every replica makes the
// same call.
func (r *Replica) Merge(results int, merge MergeFunc, arguments ...Tensor) ([]Tensor, error) {
	if _, err := count("results", results); err != nil {
		return nil, err
	}
	list, owner, err := inLibrary(arguments)
	if err != nil {
		return nil, err
	}
	defer owner.Free()
	merged := make([]C.mdist_tensor_t, results)
	if r.entered {
		err = r.mergeHere(merge, list, merged)
	} else {
		err = r.mergeCall(merge, list, merged)
	}
	if err != nil {
		return nil, r.failures.explain(err)
	}
	tensors := make([]Tensor, results)
	for i := range merged {
		tensors[i] = libraryTensor(&merged[i], nil)
	}
	return tensors, nil
}

// mergeHere merges in brackets, without a call back into Go.
func (r *Replica) mergeHere(merge MergeFunc, arguments, merged []C.mdist_tensor_t) error {
	values := make([]*C.mdist_value_t, len(arguments))
	var story *C.mdist_error_t
	err := check(C.mdist_merge_begin(r.handle, first(arguments), C.size_t(len(arguments)), first(values), nil, &story),
		&story)
	if err != nil {
		return err
	}
	given := make([]*Value, len(merged))
	code := C.int32_t(-1)
	end := func() error {
		handles := valueHandles(given)
		why := r.failures.words(int32(code))
		defer freeText(why)
		return check(C.mdistgo_merge_end(r.handle, code, why, first(handles), first(merged), C.size_t(len(merged)),
			&story), &story)
	}
	if r.LocalIndex() != 0 {
		code = 0
		return end()
	}
	defer func() {
		if code < 0 { // runtime.Goexit: nobody else may wait for this replica
			code = C.int32_t(r.failures.add(ErrGoexit))
			_ = end()
		}
	}()
	own := newValues(values)
	failed := r.failures.call(func() error {
		made, err := merge(r.strategy, own)
		return fill(given, made, err)
	})
	code = C.int32_t(failed)
	err = end()
	for _, value := range own {
		value.Close()
	}
	runtime.KeepAlive(given)
	return err
}

// fill takes what a merge function returned, if that is as many as the replicas asked for.
func fill(given, made []*Value, err error) error {
	if err == nil && len(made) > len(given) {
		err = fmt.Errorf("the function returned %d results, and %d were asked for", len(made), len(given))
	}
	if err == nil {
		copy(given, made)
	}
	return err
}

// mergeState is what a merge of the library calls back with.
type mergeState struct {
	merge    MergeFunc
	strategy *Strategy
	failures *failures
}

func (r *Replica) mergeCall(merge MergeFunc, arguments, merged []C.mdist_tensor_t) error {
	state := cgo.NewHandle(&mergeState{merge, r.strategy, r.failures})
	defer state.Delete()
	var story *C.mdist_error_t
	return check(C.mdistgo_merge_call(r.handle, C.uintptr_t(state), first(arguments), C.size_t(len(arguments)),
		first(merged), C.size_t(len(merged)), &story), &story)
}

//export mdistgoMerge
func mdistgoMerge(arguments **C.mdist_value_t, count C.size_t, results **C.mdist_value_t, resultCount C.size_t,
	state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*mergeState)
	values := make([]*Value, count)
	for i, handle := range unsafe.Slice(arguments, count) {
		values[i] = &Value{handle} // the library closes these
	}
	given := make([]*Value, resultCount)
	return call.failures.callBack(func() error {
		made, err := call.merge(call.strategy, values)
		if err = fill(given, made, err); err != nil {
			return err
		}
		return handOver(given, results)
	})
}
