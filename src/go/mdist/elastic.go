// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Change is what has changed with a regroup.
type Change struct {
	Generation        int    // of the job, from 1
	Step              uint64 // of the commit that was restored
	Rank              int    // this worker's rank
	WorkerCount       int
	FirstReplicaID    int // of this worker
	LocalReplicaCount int
}

// Commit keeps a copy of the state in memory, for Regroup to go back to: of all variables, positions of iterators over
// distributed datasets, and blobs. It is for jobs with the key elastic.replicas, which `mdist launch -n MIN:MAX` starts.
// All workers call it together, with the same step, which tells where to go on. The library makes the first commit
// itself, before the first run, with step 0.
func (s *Strategy) Commit(step uint64) error {
	defer runtime.KeepAlive(s)
	var story *C.mdist_error_t
	return s.explainBlobs(check(C.mdist_commit(s.handle, C.uint64_t(step), nil, &story), &story))
}

// Regroup forms the next generation of the job, of the workers that are left and those that have come, and restores the
// newest commit of which all is left. Call it when a call has failed because a worker was lost, when CheckMembership
// says so, and on a newcomer (IsJoining) before its first step.
//
// Afterwards the strategy, variables, datasets, iterators, checkpoints, gradients and blobs go on. Groups, calls, works
// and loops have ended. Ask for the tensors of variables and gradients anew: what lies in older ones has no meaning.
//
// After an error this worker is out of the job, except with ErrFailedPrecondition.
func (s *Strategy) Regroup() (Change, error) {
	defer runtime.KeepAlive(s)
	var change C.mdist_change_t
	change.struct_size = C.uint32_t(unsafe.Sizeof(change))
	var story *C.mdist_error_t
	if err := check(C.mdist_regroup(s.handle, &change, nil, &story), &story); err != nil {
		return Change{}, s.explainBlobs(err)
	}
	return Change{
		Generation:        int(change.generation),
		Step:              uint64(change.step),
		Rank:              int(change.rank),
		WorkerCount:       int(change.worker_count),
		FirstReplicaID:    int(change.first_replica_id),
		LocalReplicaCount: int(change.local_replica_count),
	}, nil
}

// IsJoining says whether this worker is a newcomer to a job that is at work, and has not called Regroup yet. Until then
// it creates what the others have created, in the same order.
func (s *Strategy) IsJoining() bool {
	defer runtime.KeepAlive(s)
	return C.mdist_strategy_is_joining(s.handle) != 0
}

// Blob is state that the program has for each replica, such as a random generator, so that commits keep it.
type Blob struct {
	handle *C.mdist_blob_t
	number uintptr
}

type blobFunctions struct {
	strategy      *Strategy
	save, restore func(replica int, state []byte) error
}

// NewBlob registers state of so many bytes for each replica. Save writes that of the replica with this id into state,
// which is zero at first, and restore takes it back; the slices die with the call. Commit and Regroup call them once for
// each local replica, on their goroutine, and fail with their error. All workers make the same blobs.
//
// Commits keep the blob until it or the strategy is closed. It does not close itself.
func (s *Strategy) NewBlob(name string, bytes int, save, restore func(replica int, state []byte) error) (*Blob, error) {
	if save == nil || restore == nil {
		return nil, invalid("blob %q needs a function to save and one to restore", name)
	}
	size, err := count("the size of a blob", bytes)
	if err != nil {
		return nil, err
	}
	text, err := cText("the blob's name", name)
	if err != nil {
		return nil, err
	}
	defer freeText(text)
	defer runtime.KeepAlive(s)
	blob := &Blob{number: lasting.add(&blobFunctions{s, save, restore})}
	var story *C.mdist_error_t
	err = check(C.mdistgo_blob_create(s.handle, text, C.size_t(size), C.uintptr_t(blob.number), &blob.handle, &story),
		&story)
	if err != nil {
		lasting.remove(blob.number)
		return nil, err
	}
	s.lock.Lock()
	s.named = append(s.named, blob.number)
	s.lock.Unlock()
	return blob, nil
}

// Close ends the blob: later commits do not keep it. All workers close it between the same two commits.
func (b *Blob) Close() {
	C.mdist_blob_destroy(b.handle)
	lasting.remove(b.number)
}

// explainBlobs is failures.explain for blobs, whose failures are forgotten then.
func (s *Strategy) explainBlobs(err error) error {
	err = s.blobFailures.explain(err)
	s.blobFailures.lock.Lock()
	s.blobFailures.errors = nil
	s.blobFailures.lock.Unlock()
	return err
}

//export mdistgoBlob
func mdistgoBlob(saves C.int32_t, replica C.uint32_t, state unsafe.Pointer, bytes C.size_t, number C.uintptr_t) C.int32_t {
	functions, found := lasting.find(uintptr(number)).(*blobFunctions)
	if !found {
		return (&failures{}).callBack(func() error { return errStrategyClosed })
	}
	return functions.strategy.blobFailures.callBack(func() error {
		slice := unsafe.Slice((*byte)(state), int(bytes))
		if saves == 0 {
			return functions.restore(int(replica), slice)
		}
		for i := range slice {
			slice[i] = 0
		}
		return functions.save(int(replica), slice)
	})
}
