// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"example.org/libmdist/src/go/mdist"
)

func TestMemoryIsAlignedZeroAndOutlivesItsStrategy(t *testing.T) {
	strategy := newStrategy(2)
	memory := must(mdist.Alloc[float64](strategy, 1, 1001))
	strategy.Close()
	slice := memory.UnsafeSlice()
	equal(t, "length", len(slice), 1001)
	equal(t, "alignment", uintptr(unsafe.Pointer(&slice[0]))%64, uintptr(0))
	for i := range slice {
		if slice[i] != 0 {
			t.Fatalf("element %d is %g", i, slice[i])
		}
		slice[i] = float64(i)
	}
	runtime.GC()
	equal(t, "last element", slice[1000], 1000.0)
	memory.Free()
	memory.Free()
	equal(t, "length after Free", len(memory.UnsafeSlice()), 0)
}

func TestNoElementsAreFine(t *testing.T) {
	memory := must(mdist.Alloc[int8](nil, 0, 0))
	equal(t, "length", len(memory.UnsafeSlice()), 0)
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			if err := mdist.AllReduce(replica, mdist.Sum, []float32{}); err != nil {
				return err
			}
			return replica.AllReduce(mdist.Sum, memory.Buffer())
		})
		succeeds(t, err)
	})
}

func TestMemoryThatIsNotThereIsRefused(t *testing.T) {
	strategy := newStrategy(2)
	if _, err := mdist.Alloc[float32](strategy, 2, 1); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("local replica 2 of 2: %v", err)
	}
	if _, err := mdist.Alloc[float64](nil, 0, 1<<58); !errors.Is(err, mdist.ErrOutOfMemory) {
		t.Errorf("2^61 bytes: %v", err)
	}
}

// What cgo refuses is a panic in the step, and so an error of the run.
func TestSlicesBesideAPointerAreRefusedByCgo(t *testing.T) {
	strategy := newStrategy(1)
	_, err := strategy.Run(func(replica *mdist.Replica) error {
		mixed := &struct {
			numbers [4]float32
			pointer *int
		}{pointer: new(int)}
		return mdist.AllReduce(replica, mdist.Sum, mixed.numbers[:])
	})
	var caught *mdist.PanicError
	if !errors.As(err, &caught) {
		t.Errorf("found %v", err)
	}
}

func TestTensorsAndSlicesThatDoNotFitPanic(t *testing.T) {
	panics := func(what string, function func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s did not panic", what)
			}
		}()
		function()
	}
	panics("6 elements of a slice of 5", func() { mdist.TensorOf(make([]int8, 5), 2, 3) })
	panics("bytes as floats", func() { mdist.Copy[float32](mdist.TensorOf(make([]uint8, 4))) })
}
