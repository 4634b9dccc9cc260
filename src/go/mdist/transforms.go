// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
)

// Take keeps the first so many elements, or all if there are fewer.
func (d *Dataset) Take(elements int) (*Dataset, error) {
	number, err := count("elements", elements)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_take(d.handle, number, out, nil, story)
	})
}

// Skip leaves out the first so many elements.
func (d *Dataset) Skip(elements int) (*Dataset, error) {
	number, err := count("elements", elements)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_skip(d.handle, number, out, nil, story)
	})
}

// Cache keeps the elements of the first iteration that reaches its end in memory, for later ones.
func (d *Dataset) Cache() (*Dataset, error) {
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_cache(d.handle, out, nil, story)
	})
}

// Unbatch makes each row of each element an element of its own.
func (d *Dataset) Unbatch() (*Dataset, error) {
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_unbatch(d.handle, out, nil, story)
	})
}

// Rebatch cuts the rows of all elements, taken as one sequence, into new batches of these sizes, again and again in this
// order.
func (d *Dataset) Rebatch(dropRemainder bool, sizes ...int) (*Dataset, error) {
	list := make([]C.uint64_t, len(sizes))
	for i, size := range sizes {
		var err error
		if list[i], err = count("the size of a batch", size); err != nil {
			return nil, err
		}
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_rebatch(d.handle, first(list), C.size_t(len(list)), out,
			chosen(C.MDIST_DATASET_DROP_REMAINDER, dropRemainder), story)
	})
}

// PaddedBatch is Batch for elements of different shapes: it pads each dimension at its end, with zeros, up to the
// longest of the batch. Paddings, if any, say for each component otherwise.
func (d *Dataset) PaddedBatch(size int, dropRemainder bool, paddings ...Padding) (*Dataset, error) {
	elements, err := count("the size of a batch", size)
	if err != nil {
		return nil, err
	}
	values := make([]Tensor, len(paddings))
	for i, padding := range paddings {
		values[i] = padding.Value
	}
	list, memory, err := inLibrary(values)
	if err != nil {
		return nil, err
	}
	defer memory.Free()
	for i, padding := range paddings {
		shaped := Tensor{Dtype: padding.Value.Dtype, Shape: padding.Shape}.c()
		shaped.data = list[i].data
		list[i] = shaped
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_padded_batch(d.handle, elements, first(list), C.size_t(len(list)), out,
			chosen(C.MDIST_DATASET_DROP_REMAINDER, dropRemainder), story)
	})
}

// Padding says how PaddedBatch pads a component.
type Padding struct {
	Value Tensor // one element of the component's type: Scalar(float32(-1))
	Shape []int  // to which each dimension is padded; UnknownLength: the longest of the batch
}

// FilterFunc decides whether an element stays. The tensors die with the call.
type FilterFunc func(inputs []Tensor) (keep bool, err error)

// filterState is what the library calls back with for as long as a dataset or an iterator with this filter lives.
type filterState struct {
	filter   FilterFunc
	failures *failures
}

// Filter keeps only the elements that a function keeps.
func (d *Dataset) Filter(filter FilterFunc) (*Dataset, error) {
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		state := cgo.NewHandle(&filterState{filter, d.failures}) // mdistgoRelease deletes it, also if the call fails
		return C.mdistgo_dataset_filter(d.handle, C.uintptr_t(state), out, story)
	})
}

//export mdistgoFilter
func mdistgoFilter(inputs *C.mdist_tensor_t, count C.size_t, keep *C.int32_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*filterState)
	return call.failures.callBack(func() error {
		stays, err := call.filter(libraryTensors(inputs, count))
		*keep = flag(stays)
		return err
	})
}

// Concatenate gives the elements of d, then those of another dataset.
func (d *Dataset) Concatenate(other *Dataset) (*Dataset, error) {
	defer runtime.KeepAlive(other)
	defer runtime.KeepAlive(d)
	return joined([]*Dataset{d, other}, func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_concatenate(d.handle, other.handle, out, nil, story)
	})
}

// Zip joins datasets side by side: element i has the components of element i of each. It ends with the shortest.
func Zip(sources ...*Dataset) (*Dataset, error) {
	handles := make([]*C.mdist_dataset_t, len(sources))
	for i, source := range sources {
		handles[i] = source.handle
	}
	defer runtime.KeepAlive(sources)
	return joined(sources, func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_zip(first(handles), C.size_t(len(handles)), out, nil, story)
	})
}

// joined makes a dataset that finds the errors of all its sources.
func joined(sources []*Dataset, create func(**C.mdist_dataset_t, **C.mdist_error_t) C.mdist_status_t) (*Dataset, error) {
	all := &failures{}
	for _, source := range sources {
		all.lookIn(source.failures)
	}
	return (&Dataset{failures: all}).make(create)
}
