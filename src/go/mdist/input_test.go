// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// numbers is a dataset of the batches of 0, 1, 2 ...
func numbers(rows, batch int) *mdist.Dataset {
	all := make([]int64, rows)
	for i := range all {
		all[i] = int64(i)
	}
	return must(must(mdist.NewDataset(mdist.TensorOf(all))).Batch(batch, false))
}

// parts says for each step what the replicas get, and how many rows the iterator counts.
func parts(t *testing.T, strategy *mdist.Strategy, dataset *mdist.Dataset) (steps []string) {
	t.Helper()
	each(t, dataset, func(iterator *mdist.Iterator, values []*mdist.Value) {
		step := ""
		for i := 0; i < values[0].Count(); i++ {
			step += fmt.Sprint(content[int64](values[0], i))
		}
		steps = append(steps, fmt.Sprintf("%s %v", step, must(iterator.RowCounts(strategy))))
	})
	return steps
}

func TestInputOptionsDecideWhoGetsWhichRows(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	for _, one := range []struct {
		rows     int
		options  mdist.InputOptions
		expected []string
	}{
		{8, mdist.InputOptions{Weights: []float64{1, 3}}, []string{"[0][1 2 3] [1 3]", "[4][5 6 7] [1 3]"}},
		{7, mdist.InputOptions{Uneven: mdist.UnevenSpread}, []string{"[0 1][2 3] [2 2]", "[4 5][6] [2 1]"}},
		{7, mdist.InputOptions{Uneven: mdist.UnevenDrop}, []string{"[0 1][2 3] [2 2]", "[4][5] [1 1]"}},
		{12, mdist.InputOptions{NoSplit: true, WholeSteps: true}, []string{"[0 1 2 3][4 5 6 7] [4 4]"}},
		{4, mdist.InputOptions{Fetch: mdist.FetchNever}, []string{"[0 1][2 3] [2 2]"}},
	} {
		dataset := must(numbers(one.rows, 4).DistributeWith(strategy, one.options))
		equal(t, fmt.Sprint(one.options), parts(t, strategy, dataset), one.expected)
	}
	options := mdist.InputOptions{Weights: []float64{1, 3}, NoSplit: true}
	if _, err := numbers(8, 4).DistributeWith(strategy, options); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("weights and NoSplit: %v", err)
	}
	dataset := must(numbers(8, 4).DistributeWith(strategy, mdist.InputOptions{Policy: mdist.ShardData}))
	if text := must(dataset.Explain()); !strings.Contains(strings.ToLower(text), "data") {
		t.Errorf("it is explained as %q", text)
	}
}

func TestAFunctionMakesTheInput(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	make := func(pipeline mdist.InputPipeline) (*mdist.Dataset, error) {
		size, err := pipeline.BatchSize(4)
		if err != nil || pipeline != (mdist.InputPipeline{Count: 1, ReplicaCount: 2}) {
			return nil, fmt.Errorf("another pipeline: %v, %w", pipeline, err)
		}
		return numbers(8, size), nil
	}
	dataset := must(strategy.DistributeFromFunction(mdist.InputOptions{}, make))
	equal(t, "one", parts(t, strategy, dataset), []string{"[0 1][2 3] [2 2]", "[4 5][6 7] [2 2]"})
	each := func(pipeline mdist.InputPipeline) (*mdist.Dataset, error) {
		return numbers(4, 1).Shard(2, pipeline.Index)
	}
	dataset = must(strategy.DistributeFromFunction(mdist.InputOptions{PerReplica: true}, each))
	equal(t, "each", parts(t, strategy, dataset), []string{"[0][1] [1 1]", "[2][3] [1 1]"})
	if _, err := (mdist.InputPipeline{Count: 1, ReplicaCount: 2}).BatchSize(3); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("three rows for two replicas: %v", err)
	}
}

func TestErrorsOfTheFunctionAndOfMapsInItComeBack(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	bad := errors.New("no data")
	_, err := strategy.DistributeFromFunction(mdist.InputOptions{},
		func(mdist.InputPipeline) (*mdist.Dataset, error) { return nil, bad })
	if !errors.Is(err, bad) || !errors.Is(err, mdist.ErrCallback) {
		t.Errorf("the function's error: %v", err)
	}
	dataset := must(strategy.DistributeFromFunction(mdist.InputOptions{},
		func(mdist.InputPipeline) (*mdist.Dataset, error) {
			return numbers(4, 2).Map(func(inputs, outputs []mdist.Tensor) error { return bad },
				mdist.Describe[int64](mdist.UnknownLength))
		}))
	if _, err := must(dataset.Iterate()).Next(); !errors.Is(err, bad) {
		t.Errorf("the map's error: %v", err)
	}
	works(t, strategy, strategy.Run)
}

func TestAPositionIsSavedAndRestored(t *testing.T) {
	dataset := must(numbers(9, 1).Shuffle(9, 3, true))
	iterator := must(dataset.Iterate())
	must(iterator.Next())
	position := must(iterator.Save())
	next := content[int64](must(iterator.Next())[0], 0)
	again := must(dataset.Iterate())
	succeeds(t, again.Restore(position))
	equal(t, "the next row", content[int64](must(again.Next())[0], 0), next)
	if err := again.Restore("nonsense"); !errors.Is(err, mdist.ErrDataLoss) {
		t.Errorf("nonsense: %v", err)
	}
}
