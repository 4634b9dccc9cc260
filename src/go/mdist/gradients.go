// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
)

// GradientsOptions are the same on all workers. The zero value: a sum, buckets of 4 MiB, the norm, no clipping.
type GradientsOptions struct {
	Op          ReduceOp // over replicas and rounds: Sum (with AverageLoss) or Mean; 0: Sum
	BucketBytes uint64   // a bucket takes gradients until it has this many bytes; 0: 4 MiB
	ClipNorm    float64  // clips by global norm; 0 disables clipping

	ZeroMissing   bool // gradients that are not ready by the wait count as zeros, not as an error
	ZeroNonfinite bool // if the norm is not finite, all gradients become zeros
	NoNorm        bool // computes no norm; each replica reads its share of the memory once less
}

// Gradients are the gradients of a model, in memory of the library. In a round the step writes them, says Ready as soon
// as one is complete, and at the end calls Wait. It then finds the reduced gradients where it wrote its own, with the
// same bits on every replica.
type Gradients struct {
	handle *C.mdist_gradients_t
	count  int
	lent   sync.Map // what is kept: owners of memory, by local replica, or by that and gradient
}

// NewGradients allocates memory for gradients like these on each local replica, filled with zeros. Only the type and
// the shape of like count; if it is a variable's memory, messages name the gradient after the variable. Number them in
// the order of the forward pass: then the reductions overlap best with the backward pass.
func (s *Strategy) NewGradients(options GradientsOptions, like ...Tensor) (*Gradients, error) {
	list := make([]C.mdist_tensor_t, len(like))
	for i, one := range like {
		if !one.library {
			one.data = nil // not read, and a list for C must not hold Go's pointers
		}
		list[i] = one.c()
	}
	gradients := &Gradients{count: len(like)}
	return made(gradients, gradients.create(s, options, list, like, false))
}

// LendGradients makes gradients in the program's own memory, which is reduced where it lies: arrays has the tensors of
// each local replica. They must be memory of the library (Alloc, variables), since C keeps them. A tensor made by
// Describe is lent later.
func (s *Strategy) LendGradients(options GradientsOptions, arrays ...[]Tensor) (*Gradients, error) {
	if len(arrays) != s.LocalReplicaCount() {
		return nil, invalid("gradients of %d local replicas; there are %d", len(arrays), s.LocalReplicaCount())
	}
	gradients := &Gradients{count: len(arrays[0])}
	var list []C.mdist_tensor_t
	for local, tensors := range arrays {
		if len(tensors) != gradients.count {
			return nil, invalid("%d gradients of a local replica, where the first has %d", len(tensors), gradients.count)
		}
		described, err := lendable(tensors)
		if err != nil {
			return nil, err
		}
		list = append(list, described...)
		gradients.lent.Store([2]int{local, -1}, tensors)
	}
	return made(gradients, gradients.create(s, options, list, nil, true))
}

// Lend says where all gradients of a local replica lie from its next round on.
func (g *Gradients) Lend(local int, tensors ...Tensor) error {
	number, err := index("local", local)
	if err != nil {
		return err
	}
	list, err := lendable(tensors)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(g)
	var story *C.mdist_error_t
	err = check(C.mdist_gradients_lend(g.handle, number, first(list), C.size_t(len(list)), &story), &story)
	if err == nil {
		g.lent.Store([2]int{local, -1}, tensors)
	}
	return err
}

// ReadyAt is Ready for a lent gradient that lies elsewhere in this round.
func (g *Gradients) ReadyAt(replica *Replica, number int, tensor Tensor) error {
	which, err := count("the gradient's number", number)
	if err != nil {
		return err
	}
	if _, err := lendable([]Tensor{tensor}); err != nil {
		return err
	}
	g.lent.Store([2]int{replica.LocalIndex(), number}, tensor)
	defer runtime.KeepAlive(g)
	var story *C.mdist_error_t
	return check(C.mdist_gradients_ready_at(replica.handle, g.handle, C.size_t(which), tensor.data, &story), &story)
}

func made(gradients *Gradients, err error) (*Gradients, error) {
	if err != nil {
		return nil, err
	}
	return gradients, nil
}

// lendable describes tensors that C may keep.
func lendable(tensors []Tensor) ([]C.mdist_tensor_t, error) {
	list := make([]C.mdist_tensor_t, len(tensors))
	for i, tensor := range tensors {
		if tensor.data != nil && !tensor.library {
			return nil, invalid("gradient %d lies in a slice of Go, which C must not keep: lend memory of mdist.Alloc or a "+
				"variable", i)
		}
		list[i] = tensor.c()
	}
	return list, nil
}

func (g *Gradients) create(s *Strategy, options GradientsOptions, list []C.mdist_tensor_t, like []Tensor,
	lent bool) error {
	flags := C.uint32_t(flag(options.ZeroMissing))*C.MDIST_GRADIENTS_ZERO_MISSING |
		C.uint32_t(flag(options.ZeroNonfinite))*C.MDIST_GRADIENTS_ZERO_NONFINITE |
		C.uint32_t(flag(options.NoNorm))*C.MDIST_GRADIENTS_NO_NORM
	var story *C.mdist_error_t
	err := check(C.mdistgo_gradients_create(s.handle, first(list), C.size_t(g.count), C.int32_t(flag(lent)), flags,
		C.int32_t(options.Op), C.uint64_t(options.BucketBytes), C.double(options.ClipNorm), &g.handle, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(like)
	if err == nil {
		runtime.SetFinalizer(g, (*Gradients).Close)
	}
	return err
}

// Count returns how many gradients there are.
func (g *Gradients) Count() int { return g.count }

// Tensor describes a gradient of a local replica. Its memory moves only with Strategy.Regroup. Write it until it is ready,
// and again after the wait.
func (g *Gradients) Tensor(local, number int) (Tensor, error) {
	replica, err := index("local", local)
	if err != nil {
		return Tensor{}, err
	}
	which, err := count("the gradient's number", number)
	if err != nil {
		return Tensor{}, err
	}
	var tensor C.mdist_tensor_t
	var story *C.mdist_error_t
	if err := check(C.mdist_gradients_tensor(g.handle, replica, C.size_t(which), &tensor, &story), &story); err != nil {
		return Tensor{}, err
	}
	return libraryTensor(&tensor, g), nil
}

// Accumulate marks the round that begins now: it is added to the next round instead of being reduced. Call it before
// the first gradient of the round is ready.
func (g *Gradients) Accumulate(replica *Replica) error {
	defer runtime.KeepAlive(g)
	var story *C.mdist_error_t
	return check(C.mdist_gradients_accumulate(replica.handle, g.handle, &story), &story)
}

// Ready says that a gradient of this replica is complete. From now until the wait it belongs to the library.
func (g *Gradients) Ready(replica *Replica, number int) error {
	which, err := count("the gradient's number", number)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(g)
	var story *C.mdist_error_t
	return check(C.mdist_gradients_ready(replica.handle, g.handle, C.size_t(which), &story), &story)
}

// Wait ends the round: when it returns, all gradients are reduced and clipped. It gives the norm before clipping, and
// whether all gradients are finite; if not, skip this step's update. Both are the same on all replicas.
func (g *Gradients) Wait(replica *Replica) (norm float64, finite bool, err error) {
	defer runtime.KeepAlive(g)
	var length C.double
	var good C.int32_t
	var story *C.mdist_error_t
	err = check(C.mdist_gradients_wait(replica.handle, g.handle, &length, &good, &story), &story)
	return float64(length), good != 0, err
}

// Test does what Wait does, without waiting for other replicas: it says whether the round has ended. Call it until it has,
// and meanwhile nothing else that communicates. A goroutine that has nothing else to do may call runtime.Gosched in between.
func (g *Gradients) Test(replica *Replica) (done bool, norm float64, finite bool, err error) {
	defer runtime.KeepAlive(g)
	var over, good C.int32_t
	var length C.double
	var story *C.mdist_error_t
	err = check(C.mdist_gradients_test(replica.handle, g.handle, &over, &length, &good, &story), &story)
	return over != 0, float64(length), good != 0, err
}

// keep is for slices, also over memory that was lent.
func (g *Gradients) keep() {
	runtime.SetFinalizer(g, nil)
	g.lent.Range(func(_, lent any) bool {
		tensors, several := lent.([]Tensor)
		if !several {
			tensors = []Tensor{lent.(Tensor)}
		}
		for _, tensor := range tensors {
			if owner, found := tensor.owner.(keeper); found {
				owner.keep()
			}
		}
		return true
	})
}

// Close frees the gradients. Slices over their memory must not be used any more. If a step is within a round of them,
// the memory stays until that step ends.
func (g *Gradients) Close() {
	runtime.SetFinalizer(g, nil)
	C.mdist_gradients_destroy(g.handle)
}
