// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// plain is a value of one tensor.
func plain[T mdist.Number](numbers ...T) *mdist.Value {
	return must(mdist.NewValue(mdist.TensorOf(numbers)))
}

func TestAStructureHasLeavesThatOutliveIt(t *testing.T) {
	inner := must(mdist.NewStructure(map[string]*mdist.Value{"1": plain[int32](2), "0": plain[int32](1)}))
	value := must(mdist.NewStructure(map[string]*mdist.Value{"loss": plain[float64](3), "grads": inner}))
	inner.Close()
	equal(t, "kind", value.Kind(), mdist.Structure)
	equal(t, "paths", value.Paths(), []string{"grads.0", "grads.1", "loss"})
	grads := must(value.At("grads"))
	leaves := must(value.Leaves())
	if _, err := value.At("grad"); !errors.Is(err, mdist.ErrNotFound) || !strings.Contains(err.Error(), "grads") {
		t.Errorf("a path that is not there: %v", err)
	}
	value.Close()
	equal(t, "what lies below", grads.Paths(), []string{"0", "1"})
	equal(t, "a leaf", content[int32](leaves["grads.1"], 0), []int32{2})
	equal(t, "paths of a plain value", leaves["loss"].Paths(), []string{""})
	for _, path := range []string{"a..b", "a\x00b"} {
		if _, err := mdist.NewStructure(map[string]*mdist.Value{path: grads}); !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

func TestStepsTakeAndGiveStructures(t *testing.T) {
	for replicas := 1; replicas <= 3; replicas++ {
		eachWay(t, replicas, func(t *testing.T, strategy *mdist.Strategy, run run) {
			batch := must(mdist.NewStructure(map[string]*mdist.Value{"x": plain[float32](1, 2), "y.0": plain[int64](5)}))
			results, err := run(func(replica *mdist.Replica) error {
				x, err := replica.ArgumentAt(0, "x")
				if err != nil {
					return err
				}
				sum := mdist.UnsafeSlice[float32](x)[0] + float32(replica.ID())
				if err := replica.SetResultAt(0, "sums.0", mdist.TensorOf([]float32{sum})); err != nil {
					return err
				}
				return replica.SetResultAt(0, "loss", mdist.TensorOf([]float64{1, 2}))
			}, batch)
			succeeds(t, err)
			equal(t, "paths", results[0].Paths(), []string{"loss", "sums.0"})
			all := must(strategy.Gather(results[0], 0))
			equal(t, "sums", content[float32](must(all.At("sums.0")), 0), []float32{1, 2, 3}[:replicas])
			equal(t, "losses", len(content[float64](must(all.At("loss")), 0)), 2*replicas)
		})
	}
}

func TestReductionsComeInBatches(t *testing.T) {
	strategy := newStrategy(2)
	values := make([]*mdist.Value, 20)
	for i := range values {
		values[i] = must(strategy.NewPerReplica(mdist.Scalar(int32(i)), mdist.Scalar(int32(1))))
	}
	destinations := make([]string, len(values))
	destinations[3] = "cpu:1"
	reduced := must(strategy.BatchReduceTo(mdist.Sum, values, destinations))
	for i, value := range reduced {
		equal(t, "sum", content[int32](value, 0), []int32{int32(i) + 1})
	}
	equal(t, "kinds", []mdist.ValueKind{reduced[2].Kind(), reduced[3].Kind()}, []mdist.ValueKind{mdist.Mirrored, mdist.Plain})
	if _, err := strategy.BatchReduceTo(mdist.Sum, values, nil); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("values without destinations: %v", err)
	}
}

func TestRowsAreJoinedAndScattered(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		options := mdist.VariableOptions{Aggregation: mdist.AggregateSum}
		table := must(strategy.NewVariable("table", mdist.TensorOf([]float32{1, 1, 1, 1}), options))
		_, err := run(func(replica *mdist.Replica) error {
			indices, values := mdist.TensorOf([]int64{int64(replica.ID()), 3}), mdist.TensorOf([]float32{10, 20})
			joined, err := replica.AllReduceSparse(mdist.Mean, indices, values)
			if err != nil {
				return err
			}
			found, err := joined.Indices(0)
			if err != nil {
				return err
			}
			if err := differ("indices", mdist.Copy[int64](found), []int64{0, 3, 1, 3}); err != nil {
				return err
			}
			if err := differ("rows", content[float32](joined, 0), []float32{5, 10, 5, 10}); err != nil {
				return err
			}
			return replica.AssignSparse(table, mdist.Add, indices, values)
		})
		succeeds(t, err)
		equal(t, "table", content[float32](must(table.Read()), 0), []float32{11, 11, 1, 41})
		rows := must(mdist.NewSparse(plain[int64](2), plain[float32](7)))
		succeeds(t, table.Assign(mdist.Mul, rows))
		equal(t, "table", mdist.Copy[float32](must(table.Tensor(1))), []float32{11, 11, 7, 41})
		equal(t, "indices of whole tensors", must(plain[int8](1).Indices(0)), mdist.Tensor{})
		if _, err := mdist.NewSparse(plain[int32](2), plain[float32](7)); !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("indices of int32: %v", err)
		}
		_, err = run(func(replica *mdist.Replica) error {
			return replica.AssignSparse(table, mdist.Add, mdist.TensorOf([]int64{4}), mdist.TensorOf([]float32{0}))
		})
		if !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("a row that is not there: %v", err)
		}
	})
}

func TestPartsOfALossAddUpToTheMean(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		examples := [][]float32{{1, 2, 3}, {4}, {}}
		_, err := run(func(replica *mdist.Replica) error {
			own := mdist.TensorOf(examples[replica.ID()])
			loss, batch, err := replica.AverageLoss(own, mdist.Tensor{}, 0)
			if err != nil {
				return err
			}
			weighted, _, err := replica.AverageLoss(own, own, batch)
			if err != nil {
				return err
			}
			terms, err := replica.ScaleRegularization(mdist.TensorOf([]float64{3, 6}))
			if err != nil {
				return err
			}
			sums := []float64{loss, weighted, terms}
			if err := mdist.AllReduce(replica, mdist.Sum, sums); err != nil {
				return err
			}
			if err := differ("batch", batch, 4); err != nil {
				return err
			}
			return differ("sums", sums, []float64{2.5, 7.5, 9})
		})
		succeeds(t, err)
	})
}
