// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// NewStructure makes a value of several leaves, each at a path of names and positions joined by dots: "loss",
// "grads.0", "grads.1". It shares their tensors, and they stay the caller's. A leaf that is a structure itself brings
// its leaves, below its path. Runs take structures and give them; reductions and gathers go through them leaf by leaf.
func NewStructure(leaves map[string]*Value) (*Value, error) {
	paths, values := make([]*C.char, 0, len(leaves)), make([]*Value, 0, len(leaves))
	for path, leaf := range leaves {
		text, err := cText("the path", path)
		if err != nil {
			return nil, err
		}
		defer freeText(text)
		paths, values = append(paths, text), append(values, leaf)
	}
	handles := valueHandles(values)
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdist_value_structure(first(paths), first(handles), C.size_t(len(paths)), &handle, &story), &story)
	runtime.KeepAlive(values)
	return newValue(handle), err
}

// Paths returns those of the leaves, positions in their order; one that is "" if the value is no structure.
func (v *Value) Paths() []string {
	defer runtime.KeepAlive(v)
	paths := make([]string, C.mdist_value_leaf_count(v.handle))
	for i := range paths {
		paths[i] = C.GoString(C.mdist_value_leaf_path(v.handle, C.size_t(i)))
	}
	return paths
}

// At returns the leaf at a path, or what lies below it as a structure of its own. It shares the tensors and may outlive
// the structure. ErrNotFound lists what there is.
func (v *Value) At(path string) (*Value, error) {
	handle, err := v.at(path)
	return newValue(handle), err
}

func (v *Value) at(path string) (handle *C.mdist_value_t, err error) {
	text, err := cText("the path", path)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	defer runtime.KeepAlive(v)
	var story *C.mdist_error_t
	err = check(C.mdist_value_at(v.handle, text, &handle, &story), &story)
	return handle, err
}

// Leaves returns all leaves by their paths.
func (v *Value) Leaves() (map[string]*Value, error) {
	leaves := map[string]*Value{}
	for _, path := range v.Paths() {
		leaf, err := v.At(path)
		if err != nil {
			return nil, err
		}
		leaves[path] = leaf
	}
	return leaves, nil
}

// NewSparse makes a value of rows of larger tensors: tensor i of values holds rows, and tensor i of indices, int64, says
// which rows of the larger one they are. For reductions, and for Variable.Assign, which leaves other rows alone.
func NewSparse(indices, values *Value) (*Value, error) {
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdist_value_sparse(indices.handle, values.handle, &handle, &story), &story)
	runtime.KeepAlive(indices)
	runtime.KeepAlive(values)
	return newValue(handle), err
}

// Indices describes which rows one of the value's tensors has; the zero Tensor if the value has whole tensors.
func (v *Value) Indices(number int) (Tensor, error) {
	position, err := count("the tensor's number", number)
	if err != nil {
		return Tensor{}, err
	}
	var tensor C.mdist_tensor_t
	var story *C.mdist_error_t
	err = check(C.mdist_value_indices(v.handle, C.size_t(position), &tensor, &story), &story)
	if err != nil || tensor.dtype == 0 {
		return Tensor{}, err
	}
	return libraryTensor(&tensor, v), nil
}

// AllReduceSparse joins the rows of all replicas, one after another; Mean divides them by the number of replicas. There
// may be different numbers of rows, and none. indices are int64.
func (r *Replica) AllReduceSparse(op ReduceOp, indices, values Tensor) (*Value, error) {
	var handle *C.mdist_value_t
	var story *C.mdist_error_t
	err := check(C.mdistgo_all_reduce_sparse(r.handle, C.mdist_reduce_op_t(op), indices.c(), values.c(), &handle, &story),
		&story)
	runtime.KeepAlive(indices.owner)
	runtime.KeepAlive(values.owner)
	return newValue(handle), err
}

// AssignSparse writes row i of values into row indices[i] of a variable from inside a step: those of all replicas by its
// aggregation, which wants every replica to call.
func (r *Replica) AssignSparse(v *Variable, assign Assign, indices, values Tensor) error {
	var story *C.mdist_error_t
	err := check(C.mdistgo_replica_assign_sparse(r.handle, v.handle, C.mdist_assign_t(assign), indices.c(), values.c(),
		&story), &story)
	runtime.KeepAlive(v)
	runtime.KeepAlive(indices.owner)
	runtime.KeepAlive(values.owner)
	return err
}
