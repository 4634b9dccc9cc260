// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// ValueKind says how many tensors a value has, and whether they are equal.
type ValueKind int32

// Kinds of values.
const (
	Plain      ValueKind = C.MDIST_VALUE_PLAIN       // one tensor
	Mirrored   ValueKind = C.MDIST_VALUE_MIRRORED    // one for each local replica, equal
	PerReplica ValueKind = C.MDIST_VALUE_PER_REPLICA // one for each local replica
	Structure  ValueKind = C.MDIST_VALUE_STRUCTURE   // none itself, but leaves: see NewStructure
)

// Value is what goes into a run and comes out of it. It never changes; any goroutine may read it.
type Value struct{ handle *C.mdist_value_t }

func newValue(handle *C.mdist_value_t) *Value {
	if handle == nil {
		return nil
	}
	value := &Value{handle}
	runtime.SetFinalizer(value, (*Value).Close)
	return value
}

func newValues(handles []*C.mdist_value_t) []*Value {
	values := make([]*Value, len(handles))
	for i, handle := range handles {
		values[i] = newValue(handle)
	}
	return values
}

// NewValue makes a plain value with a copy of a tensor; zeros if that was made by Describe.
func NewValue(tensor Tensor) (*Value, error) {
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdistgo_value_create(tensor.c(), &handle, &story), &story)
	runtime.KeepAlive(tensor.owner)
	return newValue(handle), err
}

// NewPerReplica makes a per-replica value with copies of tensors, one for each local replica in order.
func (s *Strategy) NewPerReplica(tensors ...Tensor) (*Value, error) {
	list, owner, err := inLibrary(tensors)
	if err != nil {
		return nil, err
	}
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err = check(C.mdist_value_per_replica(s.handle, first(list), C.size_t(len(list)), &handle, &story), &story)
	runtime.KeepAlive(s)
	owner.Free()
	return newValue(handle), err
}

// Kind returns the kind; 0 if the value is closed.
func (v *Value) Kind() ValueKind {
	defer runtime.KeepAlive(v)
	return ValueKind(C.mdist_value_kind(v.handle))
}

// Count returns how many tensors the value has; 0 if it is closed.
func (v *Value) Count() int {
	defer runtime.KeepAlive(v)
	return int(C.mdist_value_count(v.handle))
}

// Tensor describes one of the value's tensors, which is only to be read, while the value is open.
func (v *Value) Tensor(number int) (Tensor, error) {
	position, err := count("the tensor's number", number)
	if err != nil {
		return Tensor{}, err
	}
	var tensor C.mdist_tensor_t
	var story *C.mdist_error_t
	if err := check(C.mdist_value_tensor(v.handle, C.size_t(position), &tensor, &story), &story); err != nil {
		return Tensor{}, err
	}
	return libraryTensor(&tensor, v), nil
}

// Close frees the value. Its tensors' memory must not be used any more.
func (v *Value) Close() {
	runtime.SetFinalizer(v, nil)
	C.mdist_value_destroy(v.handle)
}

func (v *Value) keep() { runtime.SetFinalizer(v, nil) }

func valueHandles(values []*Value) []*C.mdist_value_t {
	handles := make([]*C.mdist_value_t, len(values))
	for i, value := range values {
		if value != nil {
			handles[i] = value.handle
		}
	}
	return handles
}

// first returns where a list for C begins; nil if it is empty.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// inLibrary copies the data of tensors, which may be Go's, into one piece of memory of the library, so that a list of
// their descriptions may be given to C.
func inLibrary(tensors []Tensor) ([]C.mdist_tensor_t, *Memory[uint8], error) {
	offsets, size := make([]int, len(tensors)), 0
	for i, t := range tensors {
		offsets[i] = size
		size += (t.Elements()*t.Dtype.Size() + 63) &^ 63
	}
	memory, err := Alloc[uint8](nil, 0, size)
	if err != nil {
		return nil, nil, err
	}
	list := make([]C.mdist_tensor_t, len(tensors))
	for i, t := range tensors {
		if t.data != nil {
			place := memory.slice()[offsets[i]:]
			copy(place, t.Buffer().bytes())
			t.data = address(place)
		}
		list[i] = t.c()
		runtime.KeepAlive(tensors)
	}
	return list, memory, nil
}
