// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"time"
)

// Prepared is a collective that is described once and runs many times. It belongs to one local replica, and reads and
// writes its buffers each time.
type Prepared struct {
	handle  *C.mdist_prepared_t
	buffers [2][]Buffer // alive as long as the call
}

// Preparation has the collectives of one local replica, to be prepared. Their arguments are those of the replica's. The
// buffers must be memory of the library (Alloc, variables), since C keeps them. The calls keep what they need of the
// group, which may be closed before them; an operator may not.
type Preparation struct {
	strategy *Strategy
	local    int
	group    *Group
	timeout  time.Duration
}

// Prepare prepares collectives of a local replica: strategy.Prepare(0).AllReduce(mdist.Sum, memory.Buffer()).
func (s *Strategy) Prepare(local int) Preparation { return Preparation{strategy: s, local: local} }

// InGroup is for calls of a group's members, of which the local replica is one.
func (p Preparation) InGroup(group *Group) Preparation {
	p.group = group
	return p
}

// WithTimeout is for calls with a limit for each wait for others.
func (p Preparation) WithTimeout(timeout time.Duration) Preparation {
	if p.timeout = timeout; timeout <= 0 {
		p.timeout = 1
	}
	return p
}

// AllReduce prepares Replica.AllReduce; so do the others for theirs.
func (p Preparation) AllReduce(op ReduceOp, buffers ...Buffer) (*Prepared, error) {
	return p.create(C.mdistgo_description{kind: C.MDIST_COLLECTIVE_ALL_REDUCE, op: C.int32_t(op)}, buffers, buffers)
}

// Broadcast is for Replica.Broadcast.
func (p Preparation) Broadcast(root int, buffers ...Buffer) (*Prepared, error) {
	return p.rooted(C.MDIST_COLLECTIVE_BROADCAST, 0, root, buffers, nil)
}

// AllGather is for Replica.AllGather.
func (p Preparation) AllGather(inputs, outputs []Buffer) (*Prepared, error) {
	return p.create(C.mdistgo_description{kind: C.MDIST_COLLECTIVE_ALL_GATHER}, inputs, outputs)
}

// ReduceScatter is for Replica.ReduceScatter.
func (p Preparation) ReduceScatter(op ReduceOp, inputs, outputs []Buffer) (*Prepared, error) {
	return p.create(C.mdistgo_description{kind: C.MDIST_COLLECTIVE_REDUCE_SCATTER, op: C.int32_t(op)}, inputs, outputs)
}

// AllToAll is for Replica.AllToAll.
func (p Preparation) AllToAll(inputs, outputs []Buffer) (*Prepared, error) {
	return p.create(C.mdistgo_description{kind: C.MDIST_COLLECTIVE_ALL_TO_ALL}, inputs, outputs)
}

// AllToAllParts is for Replica.AllToAllParts.
func (p Preparation) AllToAllParts(inputs []Buffer, inputParts []int, outputs []Buffer, outputParts []int) (*Prepared,
	error) {
	members := p.strategy.ReplicaCount()
	if p.group != nil {
		members = p.group.Size()
	}
	lists, err := partLengths(len(inputs)*members, inputParts, outputParts)
	if err != nil {
		return nil, err
	}
	what := C.mdistgo_description{kind: C.MDIST_COLLECTIVE_ALL_TO_ALL_PARTS}
	what.input_parts, what.output_parts = first(lists[0]), first(lists[1])
	call, err := p.create(what, inputs, outputs)
	runtime.KeepAlive(lists)
	return call, err
}

// ReduceToRoot is for Replica.ReduceToRoot.
func (p Preparation) ReduceToRoot(op ReduceOp, root int, buffers ...Buffer) (*Prepared, error) {
	return p.rooted(C.MDIST_COLLECTIVE_REDUCE_TO_ROOT, op, root, buffers, buffers)
}

// GatherToRoot is for Replica.GatherToRoot.
func (p Preparation) GatherToRoot(root int, inputs, outputs []Buffer) (*Prepared, error) {
	if p.id() != root {
		outputs = inputs // not looked at
	}
	return p.rooted(C.MDIST_COLLECTIVE_GATHER_TO_ROOT, 0, root, inputs, outputs)
}

// Scatter is for Replica.Scatter.
func (p Preparation) Scatter(root int, inputs, outputs []Buffer) (*Prepared, error) {
	if p.id() != root {
		inputs = outputs // not looked at
	}
	return p.rooted(C.MDIST_COLLECTIVE_SCATTER, 0, root, inputs, outputs)
}

// Barrier is for Replica.Barrier.
func (p Preparation) Barrier() (*Prepared, error) {
	return p.create(C.mdistgo_description{kind: C.MDIST_COLLECTIVE_BARRIER}, nil, nil)
}

func (p Preparation) id() int { return p.strategy.FirstReplicaID() + p.local }

func (p Preparation) rooted(kind C.int32_t, op ReduceOp, root int, inputs, outputs []Buffer) (*Prepared, error) {
	number, err := index("root", root)
	if err != nil {
		return nil, err
	}
	return p.create(C.mdistgo_description{kind: kind, op: C.int32_t(op), root: number}, inputs, outputs)
}

func (p Preparation) create(what C.mdistgo_description, in, out []Buffer) (*Prepared, error) {
	local, err := index("local", p.local)
	if err != nil {
		return nil, err
	}
	if what.kind != C.MDIST_COLLECTIVE_BROADCAST && len(in) != len(out) {
		return nil, invalid("%s", unequal(len(in), len(out)))
	}
	if !allLibrary(in) || !allLibrary(out) {
		return nil, invalid("a prepared call was given a slice of Go, which C must not keep: its buffers must come from " +
			"mdist.Alloc or a variable")
	}
	inList := byAddress(in)
	outList := inList
	if first(in) != first(out) {
		outList = byAddress(out)
	}
	if p.group != nil {
		what.group = p.group.handle
	}
	what.timeout_ns = C.uint64_t(p.timeout)
	call := &Prepared{buffers: [2][]Buffer{in, out}}
	var story *C.mdist_error_t
	err = check(C.mdistgo_prepared_create(p.strategy.handle, local, what, first(inList), first(outList),
		C.size_t(len(in)), &call.handle, &story), &story)
	runtime.KeepAlive(p.strategy)
	runtime.KeepAlive(p.group)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(call, (*Prepared).Close)
	return call, nil
}

// Run makes the call, in a step of the local replica that it was prepared for.
func (p *Prepared) Run(replica *Replica) error {
	var story *C.mdist_error_t
	err := check(C.mdist_prepared_run(replica.handle, p.handle, &story), &story)
	runtime.KeepAlive(p)
	return err
}

// Start starts the call, as the started form of its collective does.
func (p *Prepared) Start(replica *Replica) (*Work, error) {
	work := &Work{buffers: p.buffers}
	var story *C.mdist_error_t
	err := check(C.mdist_prepared_start(replica.handle, p.handle, &work.handle, &story), &story)
	runtime.KeepAlive(p)
	return work.started(err)
}

// Close frees the call. Operations that it has started go on.
func (p *Prepared) Close() {
	runtime.SetFinalizer(p, nil)
	C.mdist_prepared_destroy(p.handle)
}
