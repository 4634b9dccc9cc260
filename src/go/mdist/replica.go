// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"time"
)

// Replica is one device's copy of the model inside a step; it dies with the step. One goroutine at a time.
type Replica struct {
	handle   *C.mdist_replica_t
	strategy *Strategy
	failures *failures // of the run
	entered  bool      // on a goroutine of the caller

	// Of its collectives.
	group   *Group
	timeout time.Duration
}

// InGroup is this replica as a member of a group: its collectives are those of the group's members.
func (r *Replica) InGroup(group *Group) *Replica {
	member := *r
	member.group = group
	return &member
}

// WithTimeout is this replica with a limit for each wait for others in its collectives.
func (r *Replica) WithTimeout(timeout time.Duration) *Replica {
	impatient := *r
	if impatient.timeout = timeout; timeout <= 0 {
		impatient.timeout = 1
	}
	return &impatient
}

// with says how an operation is to be made.
func (r *Replica) with(what C.mdistgo_operation) C.mdistgo_operation {
	if r.group != nil {
		what.group = r.group.handle
	}
	what.timeout_ns = C.uint64_t(r.timeout)
	return what
}

// members is how many replicas take part in its collectives.
func (r *Replica) members() int {
	if r.group != nil {
		return r.group.Size()
	}
	return r.Count()
}

// ID returns the number of this replica in the whole job, from 0.
func (r *Replica) ID() int { return orNone(C.mdist_replica_id(r.handle)) }

// LocalIndex returns the number of this replica in this process.
func (r *Replica) LocalIndex() int { return orNone(C.mdist_replica_local_index(r.handle)) }

// Count returns the replicas in the whole job.
func (r *Replica) Count() int { return int(C.mdist_replica_count(r.handle)) }

// Argument describes this replica's tensor of an argument of the run; only to be read, until the step ends.
func (r *Replica) Argument(number int) (Tensor, error) { return r.argument(number, whole) }

// ArgumentAt is the same of an argument that is a structure: this replica's tensor at a path, such as "grads.0".
func (r *Replica) ArgumentAt(number int, path string) (Tensor, error) {
	text, err := cText("the path", path)
	if err != nil {
		return Tensor{}, err
	}
	defer freeText(text)
	return r.argument(number, text)
}

// whole is the path of what is no structure.
var whole = C.CString("")

func (r *Replica) argument(number int, path *C.char) (Tensor, error) {
	position, err := count("the argument's number", number)
	if err != nil {
		return Tensor{}, err
	}
	var tensor C.mdist_tensor_t
	var story *C.mdist_error_t
	err = check(C.mdist_replica_argument(r.handle, C.size_t(position), path, &tensor, &story), &story)
	if err != nil {
		return Tensor{}, err
	}
	return libraryTensor(&tensor, nil), nil
}

// SetResult sets this replica's part of a result of the run to a copy of a tensor.
func (r *Replica) SetResult(number int, tensor Tensor) error {
	return r.setResult(number, whole, tensor)
}

// SetResultAt sets one leaf of a result that is a structure: every replica sets the same paths.
func (r *Replica) SetResultAt(number int, path string, tensor Tensor) error {
	text, err := cText("the path", path)
	if err != nil {
		return err
	}
	defer freeText(text)
	return r.setResult(number, text, tensor)
}

func (r *Replica) setResult(number int, path *C.char, tensor Tensor) error {
	position, err := count("the result's number", number)
	if err != nil {
		return err
	}
	var story *C.mdist_error_t
	err = check(C.mdistgo_set_result(r.handle, C.size_t(position), path, tensor.c(), &story), &story)
	runtime.KeepAlive(tensor.owner)
	return err
}
