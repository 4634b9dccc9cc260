// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
)

// ShardPolicy says who reads what.
type ShardPolicy int32

// The zero value is ShardAuto.
const (
	ShardOff    ShardPolicy = C.MDIST_SHARD_OFF    // every worker reads everything
	ShardAuto   ShardPolicy = C.MDIST_SHARD_AUTO   // what the configuration says, else by file where only files are read
	ShardFile   ShardPolicy = C.MDIST_SHARD_FILE   // the workers share out the files
	ShardData   ShardPolicy = C.MDIST_SHARD_DATA   // each worker keeps its part of every batch
	ShardMarked ShardPolicy = C.MDIST_SHARD_MARKED // each Shard of OnePerWorker becomes the shard of this worker
)

// OnePerWorker is a number of shards for Dataset.Shard: one for each worker.
const OnePerWorker = C.MDIST_ONE_PER_WORKER

// Uneven says what happens to rows that cannot be shared out evenly.
type Uneven int32

// The zero value is what TensorFlow does.
const (
	UnevenDefault Uneven = C.MDIST_UNEVEN_DEFAULT
	UnevenSpread  Uneven = C.MDIST_UNEVEN_SPREAD // shares of a batch differ by at most one row
	UnevenDrop    Uneven = C.MDIST_UNEVEN_DROP   // all shares are equal, and the remaining rows are left out
)

// Fetch says whether the next elements are made while the program works.
type Fetch int32

// The zero value is what the configuration says.
const (
	FetchAsConfigured Fetch = 0
	FetchAhead        Fetch = 1
	FetchNever        Fetch = -1
)

// InputOptions say how to distribute a dataset. The zero value is what the configuration says.
type InputOptions struct {
	Policy     ShardPolicy
	Uneven     Uneven
	NoSplit    bool // gives whole elements to the replicas in turn, instead of a part of each element
	WholeSteps bool // ends before a step in which some replica would get nothing
	Fetch      Fetch
	BufferSize uint64    // how many elements of each replica are made ahead when fetching; 0: 1
	Weights    []float64 // one for each replica of the job: rows are shared out in proportion; nil: all alike

	// Only with DistributeFromFunction.
	PerReplica    bool // one dataset for each replica, in a job of one worker
	PlaceOnDevice bool // runs each of them where its replica runs
}

// c packs the options for the shim; the weights are copied into C's memory, which done frees.
func (o InputOptions) c() (options C.mdistgo_input_options, done func(), err error) {
	options = C.mdistgo_input_options{
		flags: C.uint32_t(flag(o.NoSplit))*C.MDIST_INPUT_NO_SPLIT | C.uint32_t(flag(o.WholeSteps))*C.MDIST_INPUT_WHOLE_STEPS |
			C.uint32_t(flag(o.PlaceOnDevice))*C.MDIST_INPUT_PLACE_ON_DEVICE,
		policy:           C.int32_t(o.Policy),
		uneven:           C.int32_t(o.Uneven),
		replication_mode: flag(o.PerReplica) * C.MDIST_REPLICATION_PER_REPLICA,
		fetch_to_device:  C.int32_t(o.Fetch),
		buffer_size:      C.uint64_t(o.BufferSize),
		weight_count:     C.size_t(len(o.Weights)),
	}
	if len(o.Weights) == 0 {
		return options, func() {}, nil
	}
	weights, err := Alloc[float64](nil, 0, len(o.Weights))
	if err != nil {
		return options, nil, err
	}
	copy(weights.slice(), o.Weights)
	options.weights = (*C.double)(weights.data)
	return options, weights.Free, nil
}

// DistributeWith divides each batch over the replicas of the job as options say. All workers call it together. The
// result can be iterated, and not be transformed further.
func (d *Dataset) DistributeWith(strategy *Strategy, options InputOptions) (*Dataset, error) {
	packed, done, err := options.c()
	if err != nil {
		return nil, err
	}
	defer done()
	defer runtime.KeepAlive(strategy)
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdistgo_distribute_dataset(strategy.handle, d.handle, packed, out, story)
	})
}

// InputPipeline says for whom a dataset is made.
type InputPipeline struct {
	Count        int // datasets made for the job: one for each worker, or for each replica
	Index        int // which of them this one is
	ReplicaCount int // replicas of the job
}

// BatchSize gives how many rows of the global batch one replica gets; ErrInvalidArgument if they cannot be shared out
// evenly.
func (p InputPipeline) BatchSize(global int) (int, error) {
	rows, err := count("the global batch size", global)
	if err != nil {
		return 0, err
	}
	var size C.uint64_t
	var story *C.mdist_error_t
	err = check(C.mdistgo_input_context_batch_size(C.uint32_t(p.Count), C.uint32_t(p.Index), C.uint32_t(p.ReplicaCount),
		rows, &size, &story), &story)
	return int(size), err
}

// makeState is what the library calls back with while it distributes from a function.
type makeState struct {
	function func(InputPipeline) (*Dataset, error)
	failures *failures // also of the maps in what is made
}

// DistributeFromFunction distributes the dataset that function makes, whose elements are batches of one replica. In each
// step every replica of this worker in turn takes one. All workers call it together. The dataset is the library's then:
// do not use it any more.
func (s *Strategy) DistributeFromFunction(options InputOptions,
	function func(InputPipeline) (*Dataset, error)) (*Dataset, error) {
	packed, done, err := options.c()
	if err != nil {
		return nil, err
	}
	defer done()
	defer runtime.KeepAlive(s)
	call := &makeState{function, &failures{}}
	state := cgo.NewHandle(call)
	defer state.Delete()
	made, err := (&Dataset{failures: call.failures}).make(
		func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
			return C.mdistgo_distribute_from_function(s.handle, C.uintptr_t(state), packed, out, story)
		})
	if err != nil {
		return nil, call.failures.explain(err)
	}
	return made, nil
}

//export mdistgoDataset
func mdistgoDataset(count, index, replicas C.uint32_t, out **C.mdist_dataset_t, state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*makeState)
	return call.failures.callBack(func() error {
		made, err := call.function(InputPipeline{int(count), int(index), int(replicas)})
		if err != nil {
			return err
		}
		call.failures.lookIn(made.failures)
		runtime.SetFinalizer(made, nil)
		*out, made.handle = made.handle, nil
		return nil
	})
}

// Explain says in lines for people how a dataset is made. For a distributed dataset also which policy was taken and why,
// who reads what, and how many rows each replica gets in a step.
func (d *Dataset) Explain() (string, error) {
	defer runtime.KeepAlive(d)
	return text(func(at *C.char, capacity C.size_t, needed *C.size_t) error {
		var story *C.mdist_error_t
		return check(C.mdist_dataset_explain(d.handle, at, capacity, needed, &story), &story)
	})
}

// RowCounts gives how many rows each replica of the job, by id, got in the last element of a distributed dataset: the
// denominators of means if steps are not even.
func (i *Iterator) RowCounts(strategy *Strategy) ([]uint64, error) {
	defer runtime.KeepAlive(i)
	rows := make([]uint64, strategy.ReplicaCount())
	var story *C.mdist_error_t
	err := check(C.mdist_iterator_row_counts(i.handle, (*C.uint64_t)(first(rows)), C.size_t(len(rows)), &story), &story)
	return rows, err
}

// Save gives the position, as a text for Restore on an iterator of the same dataset.
func (i *Iterator) Save() (string, error) {
	defer runtime.KeepAlive(i)
	return text(func(at *C.char, capacity C.size_t, needed *C.size_t) error {
		var story *C.mdist_error_t
		return check(C.mdist_iterator_save(i.handle, at, capacity, needed, &story), &story)
	})
}

// Restore goes on where another iterator of the same dataset was when it gave the text.
func (i *Iterator) Restore(position string) error {
	where, err := cText("the position", position)
	if err != nil {
		return err
	}
	defer freeText(where)
	defer runtime.KeepAlive(i)
	var story *C.mdist_error_t
	return i.failures.explain(check(C.mdist_iterator_restore(i.handle, where, &story), &story))
}
