// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// Synchronization says when a variable's copies become equal.
type Synchronization int32

// The zero value is SyncOnWrite.
const (
	SyncOnWrite Synchronization = C.MDIST_SYNC_ON_WRITE // mirrored: equal all the time
	SyncOnRead  Synchronization = C.MDIST_SYNC_ON_READ  // copies differ; reading outside of steps aggregates
)

// Aggregation says what becomes of what the replicas write in a step.
type Aggregation int32

// The zero value is AggregateNone.
const (
	AggregateNone             Aggregation = C.MDIST_AGGREGATION_NONE // own copy only
	AggregateSum              Aggregation = C.MDIST_AGGREGATION_SUM
	AggregateMean             Aggregation = C.MDIST_AGGREGATION_MEAN // floating-point variables only
	AggregateOnlyFirstReplica Aggregation = C.MDIST_AGGREGATION_ONLY_FIRST_REPLICA
)

// Assign says how a variable is written.
type Assign int32

// Ways to write.
const (
	Set Assign = C.MDIST_ASSIGN_SET
	Add Assign = C.MDIST_ASSIGN_ADD
	Sub Assign = C.MDIST_ASSIGN_SUB

	// For rows only.
	Mul    Assign = C.MDIST_ASSIGN_MUL
	Div    Assign = C.MDIST_ASSIGN_DIV
	SetMin Assign = C.MDIST_ASSIGN_MIN
	SetMax Assign = C.MDIST_ASSIGN_MAX
)

// VariableOptions are how a variable behaves; the zero value is mirrored, with aggregation NONE.
type VariableOptions struct {
	Synchronization Synchronization
	Aggregation     Aggregation
	ColocateWith    *Variable // nil, or one of the same strategy on whose devices to lie, which is checked
}

// Variable is state with one copy per replica. It stays until it is closed, or until neither its strategy nor it is
// used any more.
type Variable struct {
	handle   *C.mdist_variable_t
	strategy *Strategy
}

// NewVariable creates a variable with a copy of initial on every replica; zeros if that was made by Describe. Two
// variables of a strategy may not share a name.
func (s *Strategy) NewVariable(name string, initial Tensor, options VariableOptions) (*Variable, error) {
	return s.newVariable(nil, name, initial, options)
}

// NewVariable creates a variable from inside a step. Every replica makes the same call; replica 0's initial value is
// everybody's. Each receives a Variable of its own, which are one: its copies go when all are closed.
func (r *Replica) NewVariable(name string, initial Tensor, options VariableOptions) (*Variable, error) {
	return r.strategy.newVariable(r.handle, name, initial, options)
}

func (s *Strategy) newVariable(replica *C.mdist_replica_t, name string, initial Tensor,
	options VariableOptions) (*Variable, error) {
	nameText, err := cText("the name", name)
	if err != nil {
		return nil, err
	}
	defer freeText(nameText)
	var colocateWith *C.mdist_variable_t
	if options.ColocateWith != nil {
		colocateWith = options.ColocateWith.handle
	}
	var handle *C.mdist_variable_t
	var story *C.mdist_error_t
	err = check(C.mdistgo_variable_create(s.handle, replica, nameText, initial.c(),
		C.int32_t(options.Synchronization), C.int32_t(options.Aggregation), colocateWith, &handle, &story), &story)
	runtime.KeepAlive(initial.owner)
	runtime.KeepAlive(options.ColocateWith)
	runtime.KeepAlive(s)
	if err != nil {
		return nil, err
	}
	return s.own(handle), nil
}

// own is the variable behind a handle of its own.
func (s *Strategy) own(handle *C.mdist_variable_t) *Variable {
	s.lock.Lock()
	s.variables[handle] = struct{}{}
	s.lock.Unlock()
	return &Variable{handle, s}
}

// VariableOf says which variable of the strategy holds a tensor's memory, and which local replica's copy that is. It
// gives a Variable of its own, as Replica.NewVariable does; ErrNotFound if none does.
func (s *Strategy) VariableOf(tensor Tensor) (v *Variable, local int, err error) {
	var handle *C.mdist_variable_t
	var number C.uint32_t
	var story *C.mdist_error_t
	err = check(C.mdist_variable_at_address(s.handle, tensor.data, &handle, &number, &story), &story)
	runtime.KeepAlive(s)
	runtime.KeepAlive(tensor.owner)
	if err != nil {
		return nil, 0, err
	}
	return s.own(handle), int(number), nil
}

// Close gives the variable back; its memory may go to the next one. Not while a step uses it.
func (v *Variable) Close() {
	v.strategy.lock.Lock()
	delete(v.strategy.variables, v.handle)
	v.strategy.lock.Unlock()
	C.mdist_variable_destroy(v.handle)
}

// keep is for slices. The strategy's finalizer closes only the variables that it knows.
func (v *Variable) keep() {
	v.strategy.lock.Lock()
	delete(v.strategy.variables, v.handle)
	v.strategy.lock.Unlock()
}

// Name returns the name it was created with.
func (v *Variable) Name() string {
	defer runtime.KeepAlive(v)
	return C.GoString(C.mdist_variable_name(v.handle))
}

// Tensor describes the copy of a local replica. Its memory moves only with Strategy.Regroup; read and write it as you
// like, from one goroutine at a time.
func (v *Variable) Tensor(local int) (Tensor, error) {
	number, err := index("local", local)
	if err != nil {
		return Tensor{}, err
	}
	var tensor C.mdist_tensor_t
	var story *C.mdist_error_t
	err = check(C.mdist_variable_tensor(v.handle, number, &tensor, &story), &story)
	if err != nil {
		return Tensor{}, err
	}
	return libraryTensor(&tensor, v), nil
}

// Read gives the variable's content from outside of steps, as a plain value. Sync-on-read variables are aggregated.
func (v *Variable) Read() (*Value, error) {
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdist_variable_read(v.handle, &handle, nil, &story), &story)
	runtime.KeepAlive(v)
	return newValue(handle), err
}

// Assign writes from outside of steps: a plain or mirrored value to every copy, each tensor of a per-replica value to
// its own copy. In an update function it writes the copy at hand only.
func (v *Variable) Assign(assign Assign, value *Value) error {
	var story *C.mdist_error_t
	err := check(C.mdist_variable_assign(v.handle, C.mdist_assign_t(assign), value.handle, &story), &story)
	runtime.KeepAlive(v)
	runtime.KeepAlive(value)
	return err
}

// Assign writes a variable from inside a step. With an aggregation every replica calls it, and what they write is
// reduced first; else only this replica's copy is written.
func (r *Replica) Assign(v *Variable, assign Assign, tensor Tensor) error {
	var story *C.mdist_error_t
	err := check(C.mdistgo_replica_assign(r.handle, v.handle, C.mdist_assign_t(assign), tensor.c(), &story), &story)
	runtime.KeepAlive(v)
	runtime.KeepAlive(tensor.owner)
	return err
}

// Arena gives all variables of a type of a local replica as one buffer: reduce or update many in one call.
func (s *Strategy) Arena(dtype Dtype, local int) (Buffer, error) {
	number, err := index("local", local)
	if err != nil {
		return Buffer{}, err
	}
	var buffer C.mdist_buffer_t
	var story *C.mdist_error_t
	err = check(C.mdist_variable_arena(s.handle, C.mdist_dtype_t(dtype), number, &buffer, &story), &story)
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{data: buffer.data, elements: int(buffer.elements), dtype: dtype, library: true, owner: s}, nil
}
