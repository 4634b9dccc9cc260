// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "fmt"

// Float16 holds the bits of an IEEE binary16 number. Go has no arithmetic for it; sums of the library are taken in
// float32.
type Float16 uint16

// BFloat16 holds the upper half of a float32's bits; sums of the library are taken in float32.
type BFloat16 uint16

// Bool is a truth value of one byte: 0 is false, any other is true. Reductions give 0 or 1.
type Bool uint8

// Number is what tensors and buffers are made of.
type Number interface {
	float32 | float64 | Float16 | BFloat16 | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | Bool
}

// Dtype is the type of a tensor's elements.
type Dtype int32

// The types of elements, each one Go type of Number.
const (
	Float32Dtype  Dtype = C.MDIST_FLOAT32
	Float64Dtype  Dtype = C.MDIST_FLOAT64
	Float16Dtype  Dtype = C.MDIST_FLOAT16
	BFloat16Dtype Dtype = C.MDIST_BFLOAT16
	Int8Dtype     Dtype = C.MDIST_INT8
	Uint8Dtype    Dtype = C.MDIST_UINT8
	Int32Dtype    Dtype = C.MDIST_INT32
	Uint32Dtype   Dtype = C.MDIST_UINT32
	Int64Dtype    Dtype = C.MDIST_INT64
	Uint64Dtype   Dtype = C.MDIST_UINT64
	Int16Dtype    Dtype = C.MDIST_INT16
	Uint16Dtype   Dtype = C.MDIST_UINT16
	BoolDtype     Dtype = C.MDIST_BOOL
)

// DtypeOf returns the Dtype that stands for T.
func DtypeOf[T Number]() Dtype {
	switch any(*new(T)).(type) {
	case float32:
		return Float32Dtype
	case float64:
		return Float64Dtype
	case Float16:
		return Float16Dtype
	case BFloat16:
		return BFloat16Dtype
	case int8:
		return Int8Dtype
	case uint8:
		return Uint8Dtype
	case int16:
		return Int16Dtype
	case uint16:
		return Uint16Dtype
	case Bool:
		return BoolDtype
	case int32:
		return Int32Dtype
	case uint32:
		return Uint32Dtype
	case int64:
		return Int64Dtype
	case uint64:
		return Uint64Dtype
	}
	panic(fmt.Sprintf("mdist.DtypeOf: %T has no Dtype", *new(T)))
}

// String returns the name: "float32", "bfloat16" ...
func (d Dtype) String() string { return C.GoString(C.mdist_dtype_name(C.mdist_dtype_t(d))) }

// Size returns the bytes of one element.
func (d Dtype) Size() int { return int(C.mdist_dtype_size(C.mdist_dtype_t(d))) }
