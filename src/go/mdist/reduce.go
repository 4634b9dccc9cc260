// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// Reduce reduces a value over replicas, and first over axes of each tensor if there are any, to a plain value.
func (s *Strategy) Reduce(op ReduceOp, value *Value, axes ...int) (*Value, error) {
	list := make([]C.int32_t, len(axes))
	for i, number := range axes {
		var err error
		if list[i], err = axis(number); err != nil {
			return nil, err
		}
	}
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdist_strategy_reduce_axes(s.handle, C.mdist_reduce_op_t(op), value.handle, first(list), C.size_t(len(list)),
		&handle, nil, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(value)
	return newValue(handle), err
}

// AllReduce reduces the buffers of all local replicas in one call, in place: all buffers of a replica, then those of the
// next. They must be memory of the library.
func (s *Strategy) AllReduce(op ReduceOp, buffers ...Buffer) error {
	replicas := s.LocalReplicaCount()
	if replicas == 0 || len(buffers)%replicas != 0 {
		return invalid("%d buffers of %d local replicas; pass as many of each", len(buffers), replicas)
	}
	if !allLibrary(buffers) {
		return invalid("Strategy.AllReduce was given a slice of Go; its buffers must come from mdist.Alloc or a variable")
	}
	list := byAddress(buffers)
	var story *C.mdist_error_t
	err := check(C.mdist_strategy_all_reduce(s.handle, C.mdist_reduce_op_t(op), first(list), first(list),
		C.size_t(len(list)/replicas), nil, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(buffers)
	return err
}

// ReduceTo reduces a per-replica value to a plain value on the device of that name, or for "" to a mirrored value on
// the devices it came from.
func (s *Strategy) ReduceTo(op ReduceOp, value *Value, destination string) (*Value, error) {
	reduced, err := s.BatchReduceTo(op, []*Value{value}, []string{destination})
	if err != nil {
		return nil, err
	}
	return reduced[0], nil
}

// BatchReduce is many ReduceTo in one operation, each to the devices it came from. All or none.
func (s *Strategy) BatchReduce(op ReduceOp, values ...*Value) ([]*Value, error) {
	return s.batchReduce(op, values, nil)
}

// BatchReduceTo is BatchReduce with a destination for each value.
func (s *Strategy) BatchReduceTo(op ReduceOp, values []*Value, destinations []string) ([]*Value, error) {
	if len(destinations) != len(values) {
		return nil, invalid("%d values and %d destinations; pass one destination per value", len(values), len(destinations))
	}
	names := make([]*C.char, len(destinations))
	for i, destination := range destinations {
		name, err := cText("the destination", destination)
		if err != nil {
			return nil, err
		}
		defer freeText(name)
		names[i] = name
	}
	return s.batchReduce(op, values, names)
}

func (s *Strategy) batchReduce(op ReduceOp, values []*Value, destinations []*C.char) ([]*Value, error) {
	handles, reduced := valueHandles(values), make([]*C.mdist_value_t, len(values))
	var story *C.mdist_error_t
	err := check(C.mdist_strategy_reduce_to(s.handle, C.mdist_reduce_op_t(op), first(handles), first(destinations),
		C.size_t(len(values)), first(reduced), nil, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(values)
	if err != nil {
		return nil, err
	}
	return newValues(reduced), nil
}

// Broadcast makes a mirrored value with a copy of a tensor on every local device.
func (s *Strategy) Broadcast(tensor Tensor) (*Value, error) {
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdistgo_broadcast_to(s.handle, tensor.c(), &handle, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(tensor.owner)
	return newValue(handle), err
}

// Gather joins the replicas' tensors along a dimension in replica order, to a plain value.
func (s *Strategy) Gather(value *Value, dimension int) (*Value, error) {
	number, err := axis(dimension)
	if err != nil {
		return nil, err
	}
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err = check(C.mdist_strategy_gather(s.handle, value.handle, number, &handle, nil, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(value)
	return newValue(handle), err
}
