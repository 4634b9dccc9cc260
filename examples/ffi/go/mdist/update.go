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

// updateCall is what an update of the library calls back with.
type updateCall struct {
	failures
	update UpdateFunc
}

// Update calls a function for each local copy, one after another, on this goroutine. It stops at the first failure.
func (v *Variable) Update(update UpdateFunc, arguments ...*Value) error {
	call := &updateCall{update: update}
	state := cgo.NewHandle(call)
	defer state.Delete()
	handles := valueHandles(arguments)
	var story *C.mdist_error_t
	err := check(C.mdistgo_update(v.handle, C.uintptr_t(state), first(handles), C.size_t(len(handles)), &story), &story)
	runtime.KeepAlive(v)
	runtime.KeepAlive(arguments)
	return call.explain(err)
}

//export mdistgoUpdate
func mdistgoUpdate(local C.uint32_t, variable, arguments *C.mdist_tensor_t, count C.size_t,
	state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*updateCall)
	return C.int32_t(call.call(func() error {
		return call.update(int(local), libraryTensor(variable, nil), libraryTensors(arguments, count))
	}))
}

func libraryTensors(list *C.mdist_tensor_t, count C.size_t) []Tensor {
	tensors := make([]Tensor, count)
	for i := range tensors {
		tensors[i] = libraryTensor(&unsafe.Slice(list, count)[i], nil)
	}
	return tensors
}
