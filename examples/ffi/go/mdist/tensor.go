// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Rows stands in a shape given to Dataset.Map for as many as the first dimension of the input's first component.
const Rows = C.MDIST_ROWS

// Tensor describes a dense, row-major array. It lies in a slice, in memory of the library, or nowhere yet.
type Tensor struct {
	Dtype Dtype
	Shape []int // none: a scalar

	data    unsafe.Pointer
	library bool // data is memory of the library
	gpu     bool // data is memory of a GPU
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

// Slice gives the elements of a tensor, without copying them. It panics if they are of another type, or not in memory of
// the host: Fetch brings a value there.
func Slice[T Number](t Tensor) []T {
	if t.Dtype != DtypeOf[T]() {
		panic(fmt.Sprintf("mdist.Slice[%v]: the elements are %v", DtypeOf[T](), t.Dtype))
	}
	if t.gpu {
		panic("mdist.Slice: the elements lie on a GPU, and a slice is memory of the host")
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
	return Tensor{Dtype: Dtype(t.dtype), Shape: shape, data: t.data, library: true, gpu: gpu, owner: owner}
}
