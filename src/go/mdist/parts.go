// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// AllToAllParts is AllToAll with parts of any lengths, which lie end to end: inputParts has the numbers that go to each
// replica, outputParts those that come from each. If a sender and a receiver give different lengths, it is ErrMismatch on
// all replicas.
func AllToAllParts[T Number](r *Replica, input []T, inputParts []int, output []T, outputParts []int) error {
	return r.AllToAllParts([]Buffer{Of(input)}, inputParts, []Buffer{Of(output)}, outputParts)
}

// AllToAllParts is the function of that name for several buffers: their lengths lie buffer by buffer.
func (r *Replica) AllToAllParts(inputs []Buffer, inputParts []int, outputs []Buffer, outputParts []int) error {
	what, lists, err := r.parts(len(inputs), inputParts, outputParts)
	if err != nil {
		return err
	}
	err = r.collect(what, inputs, outputs)
	runtime.KeepAlive(lists)
	return err
}

// StartAllToAllParts is Replica.AllToAllParts, started.
func (r *Replica) StartAllToAllParts(inputs []Buffer, inputParts []int, outputs []Buffer, outputParts []int) (*Work,
	error) {
	what, lists, err := r.parts(len(inputs), inputParts, outputParts)
	if err != nil {
		return nil, err
	}
	work, err := r.start(what, inputs, outputs)
	runtime.KeepAlive(lists)
	return work, err
}

func (r *Replica) parts(buffers int, input, output []int) (what C.mdistgo_operation, lists [2][]C.uint64_t, err error) {
	if lists, err = partLengths(buffers*r.members(), input, output); err != nil {
		return what, lists, err
	}
	what.kind = C.MDISTGO_ALL_TO_ALL_PARTS
	what.input_parts, what.output_parts = first(lists[0]), first(lists[1])
	return what, lists, nil
}

// partLengths checks that there are as many lengths as C reads.
func partLengths(expected int, input, output []int) (lists [2][]C.uint64_t, err error) {
	for i, parts := range [2][]int{input, output} {
		if len(parts) != expected {
			return lists, invalid("%d lengths of parts; pass %d, one for each buffer and replica that takes part", len(parts),
				expected)
		}
		lists[i] = make([]C.uint64_t, len(parts))
		for j, length := range parts {
			if lists[i][j], err = count("the length of a part", length); err != nil {
				return lists, err
			}
		}
	}
	return lists, nil
}
