// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// refuses tells whether a call failed as one with an argument that C has no way to be told, with words that help.
func refuses(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("%s: found %v", what, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the sentence does not say %q: %v", what, word, err)
		}
	}
}

// failed leaves out what a call gives besides its error.
func failed[T any](_ T, err error) error { return err }

func TestNegativeNumbersOfThingsAreRefused(t *testing.T) {
	source := rows(4)
	for what, err := range map[string]error{
		"Batch":    failed(source.Batch(-1, false)),
		"Shuffle":  failed(source.Shuffle(-1, 7, false)),
		"Repeat":   failed(source.Repeat(-1)),
		"Prefetch": failed(source.Prefetch(-1)),
		"Shard":    failed(source.Shard(-1, 0)),
		"Shard 2":  failed(source.Shard(2, -1)),
		"Alloc":    failed(mdist.Alloc[int8](nil, 0, -1)),
		"Tensor":   failed(must(mdist.NewValue(mdist.Scalar(1.5))).Tensor(-1)),
	} {
		refuses(t, what, err, "-1")
	}
	endless := must(must(source.Repeat(mdist.Forever)).Iterate())
	for i := 0; i < 9; i++ {
		must(endless.Next())
	}
	endless.Close()
	for _, elements := range []int{1 << 61, 1<<61 + 1, 1 << 62} {
		refuses(t, "more bytes than an int can say", failed(mdist.Alloc[float64](nil, 0, elements)), "1152921504606846975")
	}
	for _, shape := range [][]int{{-1}, {1 << 62, 4}, {3, -1}, {-2, -2}} {
		refuses(t, "a shape that is none", failed(mdist.NewValue(mdist.Describe[float32](shape...))))
	}
}

// 1 << 32 has 0 in its lower half.
func TestNumbersOfReplicasAndAxesAreNotCut(t *testing.T) {
	const beyond = 1 << 32
	strategy := newStrategy(2)
	defer strategy.Close()
	variable := must(strategy.NewVariable("v", mdist.Scalar(1.5), mdist.VariableOptions{}))
	value := must(strategy.NewPerReplica(mdist.TensorOf([]int8{1}), mdist.TensorOf([]int8{2})))
	for _, number := range []int{beyond, beyond + 1, -beyond} {
		for what, err := range map[string]error{
			"Alloc":  failed(mdist.Alloc[int8](strategy, number, 1)),
			"Device": failed(strategy.Device(number)),
			"Arena":  failed(strategy.Arena(mdist.Float64Dtype, number)),
			"Tensor": failed(variable.Tensor(number)),
			"Gather": failed(strategy.Gather(value, number)),
			"Reduce": failed(strategy.Reduce(mdist.Sum, value, number)),
		} {
			refuses(t, what, err, "429496729")
		}
		open := must(strategy.Begin())
		refuses(t, "Enter", failed(open.Enter(number)), "429496729")
		replica := must(open.Enter(0))
		refuses(t, "Broadcast", mdist.Broadcast(replica, number, []int8{1}), "429496729")
		refuses(t, "StartBroadcast", failed(replica.StartBroadcast(number)), "429496729")
		refuses(t, "Argument", failed(replica.Argument(-1)), "-1")
		refuses(t, "SetResult", replica.SetResult(-1, mdist.Scalar(1.5)), "-1")
		refuses(t, "Merge", failed(replica.Merge(-1, nil)), "-1")
		succeeds(t, replica.Exit(nil))
		succeeds(t, must(open.Enter(1)).Exit(nil))
		succeeds(t, failed(open.End()))
	}
}

func TestTextsAreNotCutAtANul(t *testing.T) {
	config := must(mdist.NewConfig())
	refuses(t, "a key", config.Set("devices\x00x", "cpu*2"), `"devices\x00x"`, "NUL")
	refuses(t, "a value", config.Set("devices", "cpu*2\x00,cpu"), "devices", "NUL")
	refuses(t, "a key to read", failed(config.Get("devices\x00")), "NUL")
	refuses(t, "a path", config.Load("/nowhere\x00"), "NUL")
	strategy := newStrategy(1)
	refuses(t, "a name", failed(strategy.NewVariable("a\x00b", mdist.Scalar(1.5), mdist.VariableOptions{})), "NUL")
	value := must(strategy.NewPerReplica(mdist.Scalar(1.5)))
	refuses(t, "a destination", failed(strategy.ReduceTo(mdist.Sum, value, "cpu:0\x00")), "NUL")
}
