// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// rows is a dataset of so many rows {2i, 2i + 1} with label i.
func rows(count int) *mdist.Dataset {
	features, labels := make([]float32, 2*count), make([]uint8, count)
	for i := range features {
		features[i] = float32(i)
		labels[i/2] = uint8(i / 2)
	}
	return must(mdist.NewDataset(mdist.TensorOf(features, count, 2), mdist.TensorOf(labels)))
}

// labels reads component 1 of every element.
func labels(t *testing.T, dataset *mdist.Dataset) (all []uint8) {
	t.Helper()
	each(t, dataset, func(_ *mdist.Iterator, values []*mdist.Value) {
		for i := 0; i < values[1].Count(); i++ {
			all = append(all, content[uint8](values[1], i)...)
		}
		for _, value := range values {
			value.Close()
		}
	})
	return all
}

func TestDatasetsAreTransformed(t *testing.T) {
	source := rows(5)
	runtime.GC() // the slices it was made from are gone
	batches := must(source.Batch(2, false))
	equal(t, "components", batches.Components(), 2)
	equal(t, "batches", labels(t, batches), []uint8{0, 1, 2, 3, 4})
	equal(t, "full batches", labels(t, must(source.Batch(2, true))), []uint8{0, 1, 2, 3})
	equal(t, "shard", labels(t, must(must(source.Shard(2, 1)).Batch(9, false))), []uint8{1, 3})
	equal(t, "twice", labels(t, must(must(source.Repeat(2)).Batch(9, false))), []uint8{0, 1, 2, 3, 4, 0, 1, 2, 3, 4})
	shuffled := must(must(source.Shuffle(5, 7, false)).Batch(9, false))
	order := labels(t, shuffled)
	equal(t, "the same order again", labels(t, shuffled), order)
	seen := [5]bool{}
	for _, label := range order {
		seen[label] = true
	}
	equal(t, "all are there", seen, [5]bool{true, true, true, true, true})
	iterator := must(source.Iterate())
	source.Close()
	values := must(iterator.Next())
	equal(t, "a row", content[float32](values[0], 0), []float32{0, 1})
}

func TestBatchesAreCutOverReplicasAndGoIntoRuns(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		dataset := must(must(must(rows(5).Batch(4, false)).Prefetch(2)).Distribute(strategy))
		iterator := must(dataset.Iterate())
		var sizes [][2]int
		for {
			batch, err := iterator.Next()
			if err == io.EOF {
				break
			}
			succeeds(t, err)
			var size [2]int
			_, err = run(func(replica *mdist.Replica) error {
				images, err := replica.Argument(0)
				size[replica.ID()] = images.Shape[0]
				return err
			}, batch...)
			succeeds(t, err)
			sizes = append(sizes, size)
		}
		equal(t, "rows per replica", sizes, [][2]int{{2, 2}, {1, 0}})
	})
}

// Both with and without a prefetching thread of the library.
func mapped(source *mdist.Dataset, prefetch bool, transform mdist.MapFunc) *mdist.Dataset {
	dataset := must(source.Map(transform, mdist.Describe[float64](mdist.UnknownLength, 1), mdist.Describe[uint8](mdist.UnknownLength)))
	if prefetch {
		dataset = must(dataset.Prefetch(2))
	}
	return dataset
}

func TestAMapFunctionFillsItsOutputs(t *testing.T) {
	for _, prefetch := range []bool{false, true} {
		dataset := mapped(must(rows(5).Batch(2, false)), prefetch, func(inputs, outputs []mdist.Tensor) error {
			sums := mdist.UnsafeSlice[float64](outputs[0])
			for i := range sums {
				sums[i] = 0 // what is in the outputs at first, nobody knows
			}
			for i, x := range mdist.UnsafeSlice[float32](inputs[0]) {
				sums[i/2] += float64(x)
			}
			copy(mdist.UnsafeSlice[uint8](outputs[1]), mdist.UnsafeSlice[uint8](inputs[1]))
			return nil
		})
		iterator := must(dataset.Iterate())
		element := must(iterator.Next())
		equal(t, "sums", content[float64](element[0], 0), []float64{1, 5})
		equal(t, "labels", labels(t, dataset), []uint8{0, 1, 2, 3, 4})
	}
}

func TestAFailingMapFunctionEndsTheIteration(t *testing.T) {
	for _, prefetch := range []bool{false, true} {
		var calls atomic.Int32
		dataset := mapped(must(rows(6).Batch(2, false)), prefetch, func(inputs, outputs []mdist.Tensor) error {
			switch calls.Add(1) {
			case 2:
				return errNoGood
			case 3:
				panic("no good at all")
			}
			return nil
		})
		iterator := must(dataset.Iterate())
		must(iterator.Next())
		for i := 0; i < 2; i++ { // for ever
			if _, err := iterator.Next(); !errors.Is(err, errNoGood) || !errors.Is(err, mdist.ErrCallback) {
				t.Errorf("an error: %v", err)
			}
		}
		var caught *mdist.PanicError
		if _, err := must(dataset.Iterate()).Next(); !errors.As(err, &caught) {
			t.Errorf("a panic: %v", err)
		}
	}
}

func TestClosingAnIteratorWaitsForItsMapFunction(t *testing.T) {
	started, gate := make(chan struct{}, 9), make(chan struct{})
	var calls atomic.Int32
	var running atomic.Bool
	iterator := must(mapped(must(rows(6).Batch(2, false)), true, func(_, _ []mdist.Tensor) error {
		if calls.Add(1) == 1 {
			return nil // the element that Next asks for, with which prefetching begins
		}
		running.Store(true)
		started <- struct{}{}
		<-gate
		running.Store(false)
		return nil
	}).Iterate())
	must(iterator.Next())
	<-started
	go func() {
		for i := 0; i < 1000; i++ {
			runtime.Gosched() // long enough for a Close that does not wait to be seen
		}
		close(gate)
	}()
	iterator.Close()
	equal(t, "a map function is running", running.Load(), false)
	if _, err := iterator.Next(); !errors.Is(err, mdist.ErrBadHandle) {
		t.Errorf("an element of a closed iterator: %v", err)
	}
}

// The closure goes when dataset and iterators are gone, whether they are closed or forgotten.
func TestMapFunctionsAreLetGo(t *testing.T) {
	for _, close := range []bool{true, false} {
		released := make(chan struct{})
		func() {
			captured := new([1 << 16]byte)
			runtime.SetFinalizer(captured, func(*[1 << 16]byte) { released <- struct{}{} })
			dataset := mapped(must(rows(6).Batch(2, false)), true, func(inputs, outputs []mdist.Tensor) error {
				captured[0]++
				return nil
			})
			iterator := must(dataset.Iterate())
			must(iterator.Next())
			if close {
				iterator.Close()
				dataset.Close()
			}
		}()
		for waiting := true; waiting; {
			select {
			case <-released:
				waiting = false
			default:
				runtime.GC()
			}
		}
	}
	if _, err := rows(1).Map(func(_, _ []mdist.Tensor) error { return nil }, mdist.Tensor{}); err == nil {
		t.Error("an output without a type is taken")
	}
}
