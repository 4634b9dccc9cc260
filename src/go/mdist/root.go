// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

// What only one replica gets, or gives. What the others would pass there is not looked at, and may be nil.

// ReduceToRoot reduces x of all replicas into that of replica root.
func ReduceToRoot[T Number](r *Replica, op ReduceOp, root int, x []T) error {
	return r.ReduceToRoot(op, root, Of(x))
}

// GatherToRoot is AllGather with an output of replica root alone.
func GatherToRoot[T Number](r *Replica, root int, input, output []T) error {
	return r.GatherToRoot(root, []Buffer{Of(input)}, []Buffer{Of(output)})
}

// Scatter gives each replica its part of the input of replica root. The parts lie there in replica order, as long as
// each replica's output.
func Scatter[T Number](r *Replica, root int, input, output []T) error {
	return r.Scatter(root, []Buffer{Of(input)}, []Buffer{Of(output)})
}

// ReduceToRoot is the function of that name for several buffers.
func (r *Replica) ReduceToRoot(op ReduceOp, root int, buffers ...Buffer) error {
	what, err := rootedReduction(op, root)
	if err != nil {
		return err
	}
	return r.collect(what, buffers, buffers)
}

// GatherToRoot is the function of that name for several buffers.
func (r *Replica) GatherToRoot(root int, inputs, outputs []Buffer) error {
	what, err := rooted(C.MDISTGO_GATHER_TO_ROOT, root)
	if err != nil {
		return err
	}
	return r.collect(what, inputs, r.lookedAt(root, outputs, inputs))
}

// Scatter is the function of that name for several buffers.
func (r *Replica) Scatter(root int, inputs, outputs []Buffer) error {
	what, err := rooted(C.MDISTGO_SCATTER, root)
	if err != nil {
		return err
	}
	return r.collect(what, r.lookedAt(root, inputs, outputs), outputs)
}

// StartReduceToRoot is Replica.ReduceToRoot, started.
func (r *Replica) StartReduceToRoot(op ReduceOp, root int, buffers ...Buffer) (*Work, error) {
	what, err := rootedReduction(op, root)
	if err != nil {
		return nil, err
	}
	return r.start(what, buffers, buffers)
}

// StartGatherToRoot is Replica.GatherToRoot, started.
func (r *Replica) StartGatherToRoot(root int, inputs, outputs []Buffer) (*Work, error) {
	what, err := rooted(C.MDISTGO_GATHER_TO_ROOT, root)
	if err != nil {
		return nil, err
	}
	return r.start(what, inputs, r.lookedAt(root, outputs, inputs))
}

// StartScatter is Replica.Scatter, started.
func (r *Replica) StartScatter(root int, inputs, outputs []Buffer) (*Work, error) {
	what, err := rooted(C.MDISTGO_SCATTER, root)
	if err != nil {
		return nil, err
	}
	return r.start(what, r.lookedAt(root, inputs, outputs), outputs)
}

func rooted(kind C.mdistgo_collective, root int) (C.mdistgo_operation, error) {
	number, err := index("root", root)
	return C.mdistgo_operation{kind: kind, root: number}, err
}

func rootedReduction(op ReduceOp, root int) (C.mdistgo_operation, error) {
	what, err := rooted(C.MDISTGO_REDUCE_TO_ROOT, root)
	what.op = C.uint32_t(op)
	return what, err
}

// lookedAt is what the root passes; for the others any buffers do.
func (r *Replica) lookedAt(root int, roots, others []Buffer) []Buffer {
	if r.ID() == root {
		return roots
	}
	return others
}
