// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// AverageLoss returns this replica's part of the mean loss over the examples of all replicas, so that the Sum over
// replicas is that mean; and that number of examples, by which the gradient of an element is its weight divided.
// weights are the zero Tensor for none. The examples are counted if globalBatch is 0, on all replicas together; else
// that is their number, and nobody is asked.
func (r *Replica) AverageLoss(perExample, weights Tensor, globalBatch int) (loss float64, examples int, err error) {
	batch, err := count("globalBatch", globalBatch)
	if err != nil {
		return 0, 0, err
	}
	var part C.double
	var story *C.mdist_error_t
	err = check(C.mdistgo_average_loss(r.handle, perExample.c(), weights.c(), &batch, &part, &story), &story)
	runtime.KeepAlive(perExample.owner)
	runtime.KeepAlive(weights.owner)
	return float64(part), int(batch), err
}

// ScaleRegularization returns the sum of terms, which are the same on all replicas, divided by the number of those.
func (r *Replica) ScaleRegularization(terms Tensor) (float64, error) {
	var part C.double
	var story *C.mdist_error_t
	err := check(C.mdistgo_scale_regularization(r.handle, terms.c(), &part, &story), &story)
	runtime.KeepAlive(terms.owner)
	return float64(part), err
}
