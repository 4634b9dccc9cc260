// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// Forever is a count for Dataset.Repeat.
const Forever = C.MDIST_FOREVER

// Dataset describes elements of one or more components, each a tensor. It never changes: what transforms it gives a new
// one, which keeps what it is made from. Any goroutine may use it.
type Dataset struct {
	handle   *C.mdist_dataset_t
	failures *failures // of the map functions in it
}

// NewDataset makes a source whose element i is row i of each array. The arrays are copied into memory of the library,
// which frees it when nothing needs it any more.
func NewDataset(arrays ...Tensor) (*Dataset, error) {
	list, memory, err := inLibrary(arrays)
	if err != nil {
		return nil, err
	}
	kept := memory.release()
	return (&Dataset{failures: &failures{}}).make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdistgo_dataset_from_tensors(first(list), C.size_t(len(list)), kept, out, story)
	})
}

// Shard keeps elements number, number + shards, number + 2 * shards ...
func (d *Dataset) Shard(shards, number int) (*Dataset, error) {
	all, err := count("shards", shards)
	if err != nil {
		return nil, err
	}
	which, err := count("the shard's number", number)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_shard(d.handle, all, which, out, nil, story)
	})
}

// Shuffle picks each next element at random from a buffer of so many, in an order that seed decides: another one in
// each iteration if reshuffle says so.
func (d *Dataset) Shuffle(buffer int, seed uint64, reshuffle bool) (*Dataset, error) {
	elements, err := count("the buffer", buffer)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_shuffle(d.handle, elements, C.uint64_t(seed), out,
			chosen(C.MDIST_DATASET_SAME_ORDER, !reshuffle), story)
	})
}

// Repeat is the dataset so many times over, or Forever.
func (d *Dataset) Repeat(times int) (*Dataset, error) {
	repetitions, err := count("times", times)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_repeat(d.handle, repetitions, out, nil, story)
	})
}

// Batch joins so many elements along a new first dimension. The last batch may be shorter, or is dropped.
func (d *Dataset) Batch(size int, dropRemainder bool) (*Dataset, error) {
	elements, err := count("the size of a batch", size)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_batch(d.handle, elements, out, chosen(C.MDIST_DATASET_DROP_REMAINDER, dropRemainder), story)
	})
}

// Prefetch prepares so many elements ahead, on a thread of each iterator.
func (d *Dataset) Prefetch(elements int) (*Dataset, error) {
	ahead, err := count("elements", elements)
	if err != nil {
		return nil, err
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_prefetch(d.handle, ahead, out, nil, story)
	})
}

// Distribute cuts each batch over the replicas of a strategy: of n rows, each of N replicas in turn gets ceil(n / N),
// later ones fewer or none.
func (d *Dataset) Distribute(strategy *Strategy) (*Dataset, error) {
	defer runtime.KeepAlive(strategy)
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_distribute_dataset(strategy.handle, d.handle, out, nil, story)
	})
}

// Components returns how many tensors an element has; 0 if the dataset is closed.
func (d *Dataset) Components() int {
	defer runtime.KeepAlive(d)
	return int(C.mdist_dataset_component_count(d.handle))
}

// Close frees the dataset; those made from it, and iterators, live on.
func (d *Dataset) Close() {
	runtime.SetFinalizer(d, nil)
	C.mdist_dataset_destroy(d.handle)
}

// make wraps what a function of the library makes from d.
func (d *Dataset) make(create func(**C.mdist_dataset_t, **C.mdist_error_t) C.mdist_status_t) (*Dataset, error) {
	var handle *C.mdist_dataset_t
	var story *C.mdist_error_t
	err := check(create(&handle, &story), &story)
	runtime.KeepAlive(d)
	if err != nil {
		return nil, err
	}
	made := &Dataset{handle, d.failures}
	runtime.SetFinalizer(made, (*Dataset).Close)
	return made, nil
}

// chosen gives options with one flag, or nil.
func chosen(flag C.uint32_t, set bool) *C.mdist_dataset_options_t {
	if !set {
		return nil
	}
	return &C.mdist_dataset_options_t{struct_size: C.sizeof_mdist_dataset_options_t, flags: flag}
}

func flag(set bool) C.int32_t {
	if set {
		return 1
	}
	return 0
}
