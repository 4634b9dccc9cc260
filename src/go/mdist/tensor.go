// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// UnknownLength stands in a shape given to Dataset.Map for as many as the first dimension of the input's first component.
const UnknownLength = C.MDIST_UNKNOWN_LENGTH

// Tensor describes a dense, row-major array. It lies in a slice, in memory of the library or on a GPU, or nowhere yet.
type Tensor struct {
	Dtype Dtype
	Shape []int // none: a scalar

	data    unsafe.Pointer
	library bool // data is memory of the library
	gpu     bool // data is memory of a GPU
	index   int  // of that
	owner   any  // what must live as long as data is used
}

// TensorOf describes a slice. Without a shape it has one dimension. It panics if the shape does not fit the slice.
func TensorOf[T Number](slice []T, shape ...int) Tensor {
	if len(shape) == 0 {
		shape = []int{len(slice)}
	}
	t := Describe[T](shape...)
	if elements := t.Elements(); elements != len(slice) {
		panic(fmt.Sprintf("mdist.TensorOf: shape %v has %d elements, the slice %d", shape, elements, len(slice)))
	}
	t.data = address(slice)
	return t
}

// Scalar describes one number, a copy of x.
func Scalar[T Number](x T) Tensor {
	t := Describe[T]()
	t.data = unsafe.Pointer(&x)
	return t
}

// Describe gives dtype and shape without memory: zeros for a new variable or value, or what a map function makes.
func Describe[T Number](shape ...int) Tensor { return Tensor{Dtype: DtypeOf[T](), Shape: shape} }

// TensorAt describes memory that is not Go's, at an address of the host or of a GPU, as a package for CUDA gives it. It
// must be there as long as the tensor is used, and hold as many elements as the shape says.
func TensorAt[T Number](data unsafe.Pointer, shape ...int) (Tensor, error) {
	t := Describe[T](shape...)
	t.data = data
	dimensions := t.c().shape
	var described C.mdist_tensor_t
	var story *C.mdist_error_t
	err := check(C.mdist_tensor_describe(data, C.mdist_dtype_t(t.Dtype), &dimensions[0], C.size_t(len(shape)), &described,
		&story), &story)
	if err != nil {
		return Tensor{}, err
	}
	return libraryTensor(&described, nil), nil
}

// Device says where the elements lie: "cpu:0", "gpu:1".
func (t Tensor) Device() string {
	if t.gpu {
		return fmt.Sprintf("gpu:%d", t.index)
	}
	return "cpu:0"
}

// Address is where the elements begin, on the host or on a GPU. It does not keep what they belong to.
func (t Tensor) Address() unsafe.Pointer { return t.data }

// Copy returns a copy of the elements of a tensor: of a value, a variable, an argument of a step. CopyTensor writes them.
//
// It panics if the elements are of another type, or lie on a GPU: CopyTensor, in a step Replica.CopyTensor, brings them
// to memory of the host.
func Copy[T Number](t Tensor) []T {
	slice := elements[T]("Copy", t)
	copied := append(make([]T, 0, len(slice)), slice...)
	runtime.KeepAlive(t.owner)
	return copied
}

// UnsafeSlice gives the elements themselves, without a copy, to read and, except those of a value, to write. It panics
// as Copy does.
//
// Go knows nothing of this memory: after Close or Free of what it belongs to, such a slice reads and writes whatever lies
// there then. So the garbage collector frees nothing any more of which there has been such a slice: close it when you are
// done. What a step or another function was given is there until it returns.
func UnsafeSlice[T Number](t Tensor) []T {
	slice := elements[T]("UnsafeSlice", t)
	if owner, ok := t.owner.(keeper); ok {
		owner.keep()
	}
	return slice
}

// keeper is what memory belongs to that slices may see. Once it keeps it, only Close or Free gives it back.
type keeper interface{ keep() }

func elements[T Number](function string, t Tensor) []T {
	if t.Dtype != DtypeOf[T]() {
		panic(fmt.Sprintf("mdist.%s[%v]: the elements are %v", function, DtypeOf[T](), t.Dtype))
	}
	if t.gpu {
		panic(fmt.Sprintf("mdist.%s: the elements lie on %s, and a slice is memory of the host; mdist.CopyTensor, in a "+
			"step Replica.CopyTensor, brings them there", function, t.Device()))
	}
	return unsafe.Slice((*T)(t.data), t.Elements())
}

// address returns where a slice begins; nil if it has no elements.
func address[T any](slice []T) unsafe.Pointer {
	if len(slice) == 0 {
		return nil
	}
	return unsafe.Pointer(&slice[0])
}

// Elements returns the product of the dimensions: 1 for a scalar.
func (t Tensor) Elements() int {
	elements := 1
	for _, length := range t.Shape {
		elements *= length
	}
	return elements
}

// Buffer forgets the shape.
func (t Tensor) Buffer() Buffer {
	return Buffer{data: t.data, elements: t.Elements(), dtype: t.Dtype, library: t.library, owner: t.owner}
}

// c gives the library's description. It holds the data's address: hand it to C by value, or only if that is memory of
// the library.
func (t Tensor) c() C.mdist_tensor_t {
	out := C.mdist_tensor_t{data: t.data, dtype: C.int32_t(t.Dtype), rank: C.int32_t(len(t.Shape))}
	for i := 0; i < len(t.Shape) && i < len(out.shape); i++ {
		out.shape[i] = C.uint64_t(t.Shape[i])
	}
	return out
}

// libraryTensor takes over what the library described. The data belongs to owner.
func libraryTensor(t *C.mdist_tensor_t, owner any) Tensor {
	shape := make([]int, t.rank)
	for i := range shape {
		shape[i] = int(t.shape[i])
	}
	gpu := t.device_kind != C.MDIST_DEVICE_CPU
	return Tensor{Dtype: Dtype(t.dtype), Shape: shape, data: t.data, library: true, gpu: gpu, index: int(t.device_index),
		owner: owner}
}
