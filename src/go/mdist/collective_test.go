// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// sumOf adds up id + 1 and 10 times as much over two replicas.
func sumOf[T mdist.Number](replica *mdist.Replica) error {
	x := []T{T(replica.ID() + 1), T(10 * (replica.ID() + 1))}
	if err := mdist.AllReduce(replica, mdist.Sum, x); err != nil {
		return err
	}
	return differ(mdist.DtypeOf[T]().String(), x, []T{3, 30})
}

func TestEveryTypeOfElementIsReduced(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		for _, step := range []mdist.Step{sumOf[float32], sumOf[float64], sumOf[int8], sumOf[uint8], sumOf[int32],
			sumOf[uint32], sumOf[int64], sumOf[uint64], sumOf16} {
			_, err := run(step)
			succeeds(t, err)
		}
	})
}

// sumOf16 adds 1 and 2 in both halves of a float32, whose bits are written out.
func sumOf16(replica *mdist.Replica) error {
	half := []mdist.Float16{[]mdist.Float16{0x3c00, 0x4000}[replica.ID()]}
	brain := []mdist.BFloat16{[]mdist.BFloat16{0x3f80, 0x4000}[replica.ID()]}
	if err := replica.AllReduce(mdist.Sum, mdist.Of(half), mdist.Of(brain)); err != nil {
		return err
	}
	if err := differ("float16", half[0], mdist.Float16(0x4200)); err != nil {
		return err
	}
	return differ("bfloat16", brain[0], mdist.BFloat16(0x4040))
}

func TestCollectivesMoveWhatTheySay(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			id := int32(replica.ID())
			x := []int32{id, 5 - id}
			if err := mdist.AllReduce(replica, mdist.Max, x); err != nil {
				return err
			}
			if err := differ("maximum", x, []int32{1, 5}); err != nil {
				return err
			}
			x = []int32{100 + id}
			if err := mdist.Broadcast(replica, 1, x); err != nil {
				return err
			}
			if err := differ("broadcast", x, []int32{101}); err != nil {
				return err
			}
			all := make([]int32, 3)
			if err := mdist.AllGather(replica, []int32{7, 8}[:id+1], all); err != nil {
				return err
			}
			if err := differ("gathered", all, []int32{7, 7, 8}); err != nil {
				return err
			}
			part := make([]int32, 2)
			if err := mdist.ReduceScatter(replica, mdist.Sum, []int32{1, 2, 3, 4}, part); err != nil {
				return err
			}
			if err := differ("scattered", part, [][]int32{{2, 4}, {6, 8}}[id]); err != nil {
				return err
			}
			if err := mdist.AllToAll(replica, []int32{10 * id, 10*id + 1}, part); err != nil {
				return err
			}
			return differ("exchanged", part, [][]int32{{0, 10}, {1, 11}}[id])
		})
		succeeds(t, err)
	})
}

// Below the number of slices that go to C directly, at it, and above, with memory of the library among them.
func TestAnyNumberOfSlicesIsOneOperation(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		for _, count := range []int{0, 1, 3, 16, 17, 100} {
			_, err := run(func(replica *mdist.Replica) error { return fuse(replica, count) })
			succeeds(t, err)
			_, err = run(func(replica *mdist.Replica) error { return fusedGather(replica, count) })
			succeeds(t, err)
		}
	})
}

func fuse(replica *mdist.Replica, count int) error {
	floats, integers := make([][]float32, count), make([][]int64, count)
	var buffers []mdist.Buffer
	memory, err := mdist.Alloc[float64](nil, 0, 2)
	if err != nil {
		return err
	}
	defer memory.Free()
	memory.UnsafeSlice()[1] = 0.5
	for i := 0; i < count; i++ {
		floats[i], integers[i] = []float32{float32(i), 1, 2}, []int64{int64(-i)}
		if i%2 == 0 {
			buffers = append(buffers, mdist.Of(floats[i]))
		} else {
			buffers = append(buffers, mdist.Of(integers[i]))
		}
	}
	if err := replica.AllReduce(mdist.Sum, append(buffers, memory.Buffer())...); err != nil {
		return err
	}
	for i := 0; i < count; i++ {
		found, expected := any(floats[i]), any([]float32{float32(2 * i), 2, 4})
		if i%2 == 1 {
			found, expected = any(integers[i]), any([]int64{int64(-2 * i)})
		}
		if err := differ("buffer", found, expected); err != nil {
			return err
		}
	}
	return differ("memory of the library", memory.UnsafeSlice(), []float64{0, 1})
}

func fusedGather(replica *mdist.Replica, count int) error {
	var inputs, outputs []mdist.Buffer
	results := make([][]uint8, count)
	shared := []uint8{3} // read by all, so that nothing may be written back
	for i := range results {
		results[i] = make([]uint8, 2)
		inputs, outputs = append(inputs, mdist.Of(shared)), append(outputs, mdist.Of(results[i]))
	}
	if err := replica.AllGather(inputs, outputs); err != nil {
		return err
	}
	for i := range results {
		if err := differ("gathered", results[i], []uint8{3, 3}); err != nil {
			return err
		}
	}
	return nil
}

func TestUnequalNumbersOfBuffersAreRefused(t *testing.T) {
	strategy := newStrategy(1)
	_, err := strategy.Run(func(replica *mdist.Replica) error {
		return replica.AllToAll([]mdist.Buffer{mdist.Of([]int8{1})}, nil)
	})
	if !errors.Is(err, mdist.ErrInvalidArgument) || !strings.Contains(err.Error(), "1 input buffers and 0 output") {
		t.Errorf("found %v", err)
	}
}

func TestValuesAreReducedOutsideOfSteps(t *testing.T) {
	strategy := newStrategy(2)
	value := must(strategy.NewPerReplica(mdist.TensorOf([]float32{1, 2}), mdist.TensorOf([]float32{3, 6})))
	equal(t, "sum", content[float32](must(strategy.Reduce(mdist.Sum, value)), 0), []float32{4, 8})
	equal(t, "mean over all", content[float32](must(strategy.Reduce(mdist.Mean, value, 0)), 0), []float32{3})
	mirrored := must(strategy.ReduceTo(mdist.Max, value, ""))
	equal(t, "kind", mirrored.Kind(), mdist.Mirrored)
	equal(t, "maximum", content[float32](mirrored, 0), []float32{3, 6})
	both := must(strategy.BatchReduce(mdist.Min, value, value))
	equal(t, "minimum", content[float32](both[1], 0), []float32{1, 2})
	equal(t, "gathered", content[float32](must(strategy.Gather(value, 0)), 0), []float32{1, 2, 3, 6})
	copies := must(strategy.Broadcast(mdist.TensorOf([]float32{9})))
	equal(t, "copies", copies.Count(), 2)
}
