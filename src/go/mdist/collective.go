// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// ReduceOp says how numbers of all replicas become one.
type ReduceOp int32

// Reductions. Sums follow one tree over the replicas, so that results have the same bits run after run.
const (
	Sum  ReduceOp = C.MDIST_SUM
	Mean ReduceOp = C.MDIST_MEAN // not for integers, except in Strategy.Reduce over axes
	Min  ReduceOp = C.MDIST_MIN
	Max  ReduceOp = C.MDIST_MAX
	Prod ReduceOp = C.MDIST_PROD
	And  ReduceOp = C.MDIST_AND // this and the next two: bit by bit for integers, logical for Bool
	Or   ReduceOp = C.MDIST_OR
	Xor  ReduceOp = C.MDIST_XOR
)

// AllReduce reduces x of all replicas into every replica's x.
func AllReduce[T Number](r *Replica, op ReduceOp, x []T) error { return r.AllReduce(op, Of(x)) }

// Broadcast copies x of replica root over those of all others.
func Broadcast[T Number](r *Replica, root int, x []T) error { return r.Broadcast(root, Of(x)) }

// AllGather writes the inputs of all replicas one after another into every replica's output. Inputs may differ in
// length; the output is as long as all of them together.
func AllGather[T Number](r *Replica, input, output []T) error {
	return r.collect(C.mdistgo_operation{kind: C.MDISTGO_ALL_GATHER}, []Buffer{Of(input)}, []Buffer{Of(output)})
}

// ReduceScatter reduces like AllReduce, but each replica receives its own part only: the parts lie in the input in
// replica order, as long as each replica's output.
func ReduceScatter[T Number](r *Replica, op ReduceOp, input, output []T) error {
	return r.collect(reduction(C.MDISTGO_REDUCE_SCATTER, op), []Buffer{Of(input)}, []Buffer{Of(output)})
}

// AllToAll cuts the input into as many equal parts as there are replicas; part j of replica i becomes part i of
// replica j's output.
func AllToAll[T Number](r *Replica, input, output []T) error {
	return r.collect(C.mdistgo_operation{kind: C.MDISTGO_ALL_TO_ALL}, []Buffer{Of(input)}, []Buffer{Of(output)})
}

// AllReduce reduces several buffers, of any mix of types, in one fused operation.
//
// Here and below, up to 16 slices go to C as they are. With more than that in one call, those of Go go through copies
// in memory of the library; memory of the library (Alloc, variables) never needs a copy.
func (r *Replica) AllReduce(op ReduceOp, buffers ...Buffer) error {
	return r.collect(reduction(C.MDISTGO_ALL_REDUCE, op), buffers, buffers)
}

// Broadcast copies the buffers of replica root over those of all others.
func (r *Replica) Broadcast(root int, buffers ...Buffer) error {
	what, err := rooted(C.MDISTGO_BROADCAST, root)
	if err != nil {
		return err
	}
	return r.collect(what, buffers, buffers)
}

// AllGather is the function of that name for several buffers.
func (r *Replica) AllGather(inputs, outputs []Buffer) error {
	return r.collect(C.mdistgo_operation{kind: C.MDISTGO_ALL_GATHER}, inputs, outputs)
}

// ReduceScatter is the function of that name for several buffers.
func (r *Replica) ReduceScatter(op ReduceOp, inputs, outputs []Buffer) error {
	return r.collect(reduction(C.MDISTGO_REDUCE_SCATTER, op), inputs, outputs)
}

// AllToAll is the function of that name for several buffers.
func (r *Replica) AllToAll(inputs, outputs []Buffer) error {
	return r.collect(C.mdistgo_operation{kind: C.MDISTGO_ALL_TO_ALL}, inputs, outputs)
}

// Barrier returns when every replica has called it.
func (r *Replica) Barrier() error {
	return r.collect(C.mdistgo_operation{kind: C.MDISTGO_BARRIER}, nil, nil)
}

func reduction(kind C.mdistgo_collective, op ReduceOp) C.mdistgo_operation {
	return C.mdistgo_operation{kind: kind, op: C.uint32_t(op)}
}

func (r *Replica) collect(what C.mdistgo_operation, inputs, outputs []Buffer) error {
	if len(inputs) != len(outputs) {
		return &Error{Status: ErrInvalidArgument, Replica: r.ID(), message: unequal(len(inputs), len(outputs))}
	}
	inPlace := first(inputs) == first(outputs)
	err := r.collectBuffers(r.with(what), inputs, outputs, inPlace)
	runtime.KeepAlive(r.group)
	runtime.KeepAlive(inputs)
	runtime.KeepAlive(outputs)
	return err
}

// collectBuffers takes the way that cgo's rules leave open.
func (r *Replica) collectBuffers(what C.mdistgo_operation, in, out []Buffer, inPlace bool) error {
	count := C.size_t(len(in))
	var story *C.mdist_error_t
	switch {
	case allLibrary(in) && allLibrary(out):
		inList := byAddress(in)
		outList := inList
		if !inPlace {
			outList = byAddress(out)
		}
		return check(C.mdistgo_collect(what, r.handle, first(inList), first(outList), count, nil,
			&story), &story)
	case len(in) > direct:
		return r.collectStaged(what, in, out, inPlace)
	case inPlace:
		return check(C.mdistgo_collect_in_place(what, r.handle, byValue(in), count, &story), &story)
	default:
		return check(C.mdistgo_collect_direct(what, r.handle, byValue(in), byValue(out), count,
			&story), &story)
	}
}

func (r *Replica) collectStaged(what C.mdistgo_operation, in, out []Buffer, inPlace bool) error {
	inCopies, err := staged(in)
	if err != nil {
		return err
	}
	defer freeStaged(in, inCopies)
	outCopies := inCopies
	if !inPlace {
		if outCopies, err = staged(out); err != nil {
			return err
		}
		defer freeStaged(out, outCopies)
	}
	if err := r.collectBuffers(what, inCopies, outCopies, inPlace); err != nil {
		return err
	}
	copyBack(out, outCopies)
	return nil
}
