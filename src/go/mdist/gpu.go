// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// GPUs gives how many GPUs this process can use, and in words what they are, or why there are none. A child of a fork
// cannot use them any more.
func GPUs() (count int, text string, err error) {
	var number C.uint32_t
	var needed C.size_t
	var story *C.mdist_error_t
	if err := check(C.mdist_gpu_count(&number, nil, 0, &needed, &story), &story); err != nil {
		return 0, "", err
	}
	buffer := make([]byte, needed)
	err = check(C.mdist_gpu_count(&number, (*C.char)(unsafe.Pointer(&buffer[0])), needed, nil, &story), &story)
	if err != nil {
		return 0, "", err
	}
	return int(number), string(buffer[:needed-1]), nil
}

// Stream returns the cudaStream_t on which all that the step asks of the library is done in order, for kernels of yours;
// nil of a replica on the CPU. CUDA keeps the current device per thread: runtime.LockOSThread before you set it.
func (r *Replica) Stream() (stream unsafe.Pointer, err error) {
	var story *C.mdist_error_t
	err = check(C.mdist_replica_stream(r.handle, &stream, &story), &story)
	return stream, err
}

// UseStream has the library work on a stream of yours, a cudaStream_t of the replica's GPU, until the step ends or nil is
// given. It must live until the step has ended; any other address crashes the process.
func (r *Replica) UseStream(stream unsafe.Pointer) error {
	var story *C.mdist_error_t
	return check(C.mdist_replica_use_stream(r.handle, stream, &story), &story)
}

// Graph does what body puts on the replica's stream, as a CUDA graph: the first time body is called and recorded, later
// the graph is launched. Where nothing is recorded, as on the CPU, body is called each time. If it fails, the step must
// fail, too. The graph uses the memory with which it was recorded each time: keep that memory as long as the strategy.
func (r *Replica) Graph(key uint64, body func() error) error {
	var story *C.mdist_error_t
	var record C.int32_t
	if err := check(C.mdist_replica_graph_begin(r.handle, C.uint64_t(key), &record, &story), &story); err != nil {
		return err
	}
	if record != 0 {
		if err := body(); err != nil {
			return err
		}
	}
	return check(C.mdist_replica_graph_end(r.handle, &story), &story)
}

// CopyTensor copies between tensors of one type and shape, wherever they lie: slices, variables, values, memory of GPUs. Done
// on return. In a step take
// Replica.CopyTensor.
func CopyTensor(to, from Tensor) error { return copyTensor(nil, to, from) }

// CopyTensor is the same in a step, behind what the replica's stream has been given. Done on return if one of the two is of
// the host, else in its turn.
func (r *Replica) CopyTensor(to, from Tensor) error { return copyTensor(r.handle, to, from) }

func copyTensor(replica *C.mdist_replica_t, to, from Tensor) error {
	var story *C.mdist_error_t
	err := check(C.mdistgo_copy(replica, to.c(), from.c(), &story), &story)
	runtime.KeepAlive(to.owner)
	runtime.KeepAlive(from.owner)
	return err
}
