// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

// Send sends x to replica `to`, which receives it under the same tag, with the same type and length. A message of more
// than 4096 bytes waits for its receiver: if two replicas send to each other, start one side.
func Send[T Number](r *Replica, to int, tag uint64, x []T) error { return r.Send(to, tag, Of(x)) }

// Receive receives into x what replica `from` sends under a tag; equal ones in the order in which they were sent.
func Receive[T Number](r *Replica, from int, tag uint64, x []T) error {
	return r.Receive(from, tag, Of(x))
}

// Send is the function of that name for a buffer.
func (r *Replica) Send(to int, tag uint64, buffer Buffer) error {
	what, err := message(C.MDISTGO_SEND, to, tag)
	if err != nil {
		return err
	}
	return r.collect(what, []Buffer{buffer}, []Buffer{buffer})
}

// Receive is the function of that name for a buffer.
func (r *Replica) Receive(from int, tag uint64, buffer Buffer) error {
	what, err := message(C.MDISTGO_RECEIVE, from, tag)
	if err != nil {
		return err
	}
	return r.collect(what, []Buffer{buffer}, []Buffer{buffer})
}

// StartSend is Replica.Send, started. The buffer must be memory of the library.
func (r *Replica) StartSend(to int, tag uint64, buffer Buffer) (*Work, error) {
	what, err := message(C.MDISTGO_SEND, to, tag)
	if err != nil {
		return nil, err
	}
	return r.start(what, []Buffer{buffer}, []Buffer{buffer})
}

// StartReceive is Replica.Receive, started. The buffer must be memory of the library.
func (r *Replica) StartReceive(from int, tag uint64, buffer Buffer) (*Work, error) {
	what, err := message(C.MDISTGO_RECEIVE, from, tag)
	if err != nil {
		return nil, err
	}
	return r.start(what, []Buffer{buffer}, []Buffer{buffer})
}

func message(kind C.mdistgo_collective, other int, tag uint64) (what C.mdistgo_operation, err error) {
	what.kind, what.tag = kind, C.uint64_t(tag)
	what.root, err = index("the other replica", other)
	return what, err
}
