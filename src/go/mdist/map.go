// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime/cgo"

// MapFunc computes one element from another, into memory that is already there, its content undefined. It runs on the
// goroutine that asks for the element, or on a thread of the library if a Prefetch follows, one call at a time per
// iterator. The tensors die with the call.
type MapFunc func(inputs, outputs []Tensor) error

// mapState is what the library calls back with for as long as a dataset or an iterator with this map lives.
type mapState struct {
	transform MapFunc
	failures  *failures
}

// Map applies a function to every element. The outputs are dtype and shape of each component it makes (Describe); the
// first dimension may be UnknownLength.
func (d *Dataset) Map(transform MapFunc, outputs ...Tensor) (*Dataset, error) {
	list := make([]C.mdist_tensor_t, len(outputs))
	for i, output := range outputs {
		output.data = nil // not read
		list[i] = output.c()
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		state := cgo.NewHandle(&mapState{transform, d.failures}) // mdistgoRelease deletes it, also if the call fails
		return C.mdistgo_dataset_map(d.handle, C.uintptr_t(state), first(list), C.size_t(len(list)), out, story)
	})
}

//export mdistgoMap
func mdistgoMap(inputs *C.mdist_tensor_t, inputCount C.size_t, outputs *C.mdist_tensor_t, outputCount C.size_t,
	state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*mapState)
	return call.failures.callBack(func() error {
		return call.transform(libraryTensors(inputs, inputCount), libraryTensors(outputs, outputCount))
	})
}

//export mdistgoRelease
func mdistgoRelease(state C.uintptr_t) { cgo.Handle(state).Delete() }
