// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Operator is a reduction of your own. Pass Op() where an operation is expected: in AllReduce, ReduceScatter and
// ReduceToRoot, also started, and in Strategy.AllReduce.
type Operator struct {
	op     C.mdist_reduce_op_t
	number uintptr
}

type combineFunc func(left, right, out unsafe.Pointer, count int) error

// NewOperator registers a reduction of elements that are `size` numbers each. The function combines many pairs of
// elements: element i of out becomes that of left combined with that of right. The slices hold whole elements, and die
// with the call.
//
// It is applied along the library's fixed tree, lower replica ids on the left, so it need be neither associative nor
// commutative. Buffers may be of any type, but must be whole numbers of elements long. All replicas use operators of the
// same name and element size, whose functions do the same. The function runs on any thread, on several at the same time,
// and must not use this package. An error or a panic fails the collective with its words.
//
// Close it when no run uses it any more. It does not close itself.
func NewOperator[T Number](name string, size int, combine func(left, right, out []T) error) (*Operator, error) {
	if combine == nil {
		return nil, invalid("the operator %q was given no function", name)
	}
	bytes, err := count("the size of an element", size)
	if err != nil {
		return nil, err
	}
	return newOperator(name, bytes*C.uint64_t(DtypeOf[T]().Size()), func(left, right, out unsafe.Pointer, count int) error {
		numbers := count * size
		return combine(unsafe.Slice((*T)(left), numbers), unsafe.Slice((*T)(right), numbers),
			unsafe.Slice((*T)(out), numbers))
	})
}

func newOperator(name string, bytes C.uint64_t, combine combineFunc) (*Operator, error) {
	text, err := cText("the operator's name", name)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	operator := &Operator{number: lasting.add(combine)}
	var story *C.mdist_error_t
	err = check(C.mdistgo_operator_register(text, C.size_t(bytes), C.uintptr_t(operator.number), &operator.op, &story),
		&story)
	if err != nil {
		lasting.remove(operator.number)
		return nil, err
	}
	return operator, nil
}

// Op is the operator as an operation.
func (o *Operator) Op() ReduceOp { return ReduceOp(o.op) }

// Close ends the use of the operator. A collective that still uses it fails.
func (o *Operator) Close() {
	C.mdist_operator_unregister(o.op)
	lasting.remove(o.number)
}

var errOperatorClosed = errors.New("the operator was closed while a collective used it; close it when no run does")

//export mdistgoCombine
func mdistgoCombine(left, right, out unsafe.Pointer, count C.uint64_t, number C.uintptr_t) C.int32_t {
	var once failures
	return once.callBack(func() error {
		combine, found := lasting.find(uintptr(number)).(combineFunc)
		if !found {
			return errOperatorClosed
		}
		return combine(left, right, out, int(count))
	})
}
