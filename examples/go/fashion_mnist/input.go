// SPDX-License-Identifier: Apache-2.0

package main

import "example.org/libmdist/src/go/mdist"

// newInput makes batches {float32 images [rows][784], uint8 labels [rows]}, split among the replicas. The last batch
// may be short. With a seed other than 0, each iteration has another order.
func newInput(strategy *mdist.Strategy, s set, batch int, seed uint64) (*mdist.Dataset, error) {
	count := len(s.labels)
	dataset, err := mdist.NewDataset(mdist.TensorOf(s.images, count, pixels), mdist.TensorOf(s.labels))
	if err == nil && seed != 0 {
		dataset, err = dataset.Shuffle(count, seed, true)
	}
	for _, transform := range []func(*mdist.Dataset) (*mdist.Dataset, error){
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Batch(batch, false) },
		func(d *mdist.Dataset) (*mdist.Dataset, error) {
			return d.Map(normalise, mdist.Describe[float32](mdist.UnknownLength, pixels), mdist.Describe[uint8](mdist.UnknownLength))
		},
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Prefetch(2) },
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Distribute(strategy) },
	} {
		if err == nil {
			dataset, err = transform(dataset)
		}
	}
	return dataset, err
}

// normalise converts bytes to floats from 0 to 1, batch by batch. All images as floats would need 188 MB.
func normalise(inputs, outputs []mdist.Tensor) error {
	images := mdist.UnsafeSlice[float32](outputs[0])
	for i, pixel := range mdist.UnsafeSlice[uint8](inputs[0]) {
		images[i] = float32(pixel) * (float32(1) / 255)
	}
	copy(mdist.UnsafeSlice[uint8](outputs[1]), mdist.UnsafeSlice[uint8](inputs[1]))
	return nil
}
