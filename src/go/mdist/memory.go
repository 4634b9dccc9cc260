// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"math"
	"runtime"
	"strings"
	"unsafe"
)

// Memory is memory of the library, which no garbage collector knows: for started collectives, and for fusing any
// number of buffers without a copy. It stays when its strategy goes.
type Memory[T Number] struct {
	data     unsafe.Pointer
	elements int
}

// Alloc gives memory for zeros on the device of a local replica, 64-byte aligned. Without a strategy it is the host's,
// and local must be 0. The device must be a CPU, since a slice is memory of the host.
func Alloc[T Number](strategy *Strategy, local, elements int) (*Memory[T], error) {
	return newMemory[T](elements, func(bytes int) (unsafe.Pointer, error) { return allocate(strategy, local, bytes) })
}

// AllocPinned gives page-locked memory of the host for zeros, which GPUs copy from and to at full speed; ordinary memory
// where there are none.
func AllocPinned[T Number](elements int) (*Memory[T], error) {
	return newMemory[T](elements, func(bytes int) (data unsafe.Pointer, err error) {
		var story *C.mdist_error_t
		err = check(C.mdist_alloc_pinned(C.size_t(bytes), &data, &story), &story)
		return data, err
	})
}

func newMemory[T Number](elements int, allocate func(bytes int) (unsafe.Pointer, error)) (*Memory[T], error) {
	size := DtypeOf[T]().Size()
	if elements < 0 || elements > math.MaxInt/size {
		return nil, invalid("elements is %d; it must be from 0 to %d, for they have %d bytes each", elements,
			math.MaxInt/size, size)
	}
	data, err := allocate(elements * size)
	if err != nil {
		return nil, err
	}
	memory := &Memory[T]{data, elements}
	runtime.SetFinalizer(memory, (*Memory[T]).Free)
	return memory, nil
}

// UnsafeSlice gives the elements, to read and write until Free. From now on only Free gives the memory back, and not the
// garbage collector.
func (m *Memory[T]) UnsafeSlice() []T {
	m.keep()
	return m.slice()
}

// slice is for who holds on to m.
func (m *Memory[T]) slice() []T { return unsafe.Slice((*T)(m.data), m.elements) }

func (m *Memory[T]) keep() { runtime.SetFinalizer(m, nil) }

// Buffer gives the memory to a collective, also to a started one.
func (m *Memory[T]) Buffer() Buffer {
	return Buffer{data: m.data, elements: m.elements, dtype: DtypeOf[T](), library: true, owner: m}
}

// Tensor describes the memory as a tensor of one dimension.
func (m *Memory[T]) Tensor() Tensor {
	return Tensor{Dtype: DtypeOf[T](), Shape: []int{m.elements}, data: m.data, library: true, owner: m}
}

// Free gives the memory back. Slices over it must not be used any more; m is empty from here on.
func (m *Memory[T]) Free() { C.mdist_free(m.release()) }

// release hands the memory over to somebody who will call mdist_free.
func (m *Memory[T]) release() unsafe.Pointer {
	runtime.SetFinalizer(m, nil)
	data := m.data
	m.data, m.elements = nil, 0
	return data
}

func allocate(strategy *Strategy, local int, bytes int) (data unsafe.Pointer, err error) {
	replica, err := index("local", local)
	if err != nil {
		return nil, err
	}
	var handle *C.mdist_strategy_t
	if strategy != nil {
		device, err := strategy.Device(local)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(device, "cpu") {
			return nil, invalid("local replica %d is on %s, and a slice is memory of the host; mdist.CopyTensor reaches "+
				"variables and values there", local, device)
		}
		handle = strategy.handle
		defer runtime.KeepAlive(strategy)
	}
	var story *C.mdist_error_t
	err = check(C.mdist_alloc(handle, replica, C.size_t(bytes), &data, &story), &story)
	return data, err
}
