// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"fmt"
	"io"
	"reflect"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// run is the signature of both ways to run a step.
type run func(step mdist.Step, arguments ...*mdist.Value) ([]*mdist.Value, error)

// must gives the value of a call that has to succeed. Not for steps: it ends the program, not the test.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// each passes the values of every element to use, in order.
func each(t *testing.T, dataset *mdist.Dataset, use func(*mdist.Iterator, []*mdist.Value)) {
	t.Helper()
	iterator := must(dataset.Iterate())
	defer iterator.Close()
	for {
		values, err := iterator.Next()
		if err == io.EOF {
			return
		}
		succeeds(t, err)
		use(iterator, values)
	}
}

func newStrategy(replicas int) *mdist.Strategy {
	config := must(mdist.NewConfig())
	defer config.Close()
	if err := config.Set("devices", fmt.Sprintf("cpu*%d", replicas)); err != nil {
		panic(err)
	}
	if err := config.Set("communication.timeout", "60s"); err != nil {
		panic(err)
	}
	return must(mdist.NewStrategy(config))
}

// eachWay tests with a strategy of so many replicas, on threads of the library and on goroutines.
func eachWay(t *testing.T, replicas int, test func(t *testing.T, strategy *mdist.Strategy, run run)) {
	t.Helper()
	t.Run("library threads", func(t *testing.T) {
		strategy := newStrategy(replicas)
		defer strategy.Close()
		test(t, strategy, strategy.Run)
	})
	t.Run("goroutines", func(t *testing.T) {
		strategy := newStrategy(replicas)
		defer strategy.Close()
		test(t, strategy, strategy.RunGoroutines)
	})
}

// content gives the elements of one of a value's tensors.
func content[T mdist.Number](value *mdist.Value, index int) []T {
	return mdist.Copy[T](must(value.Tensor(index)))
}

// differ is an error if found is not what was expected, for steps, which must not end their goroutine.
func differ(what string, found, expected any) error {
	if reflect.DeepEqual(found, expected) {
		return nil
	}
	return fmt.Errorf("%s: found %v, expected %v", what, found, expected)
}

func equal(t *testing.T, what string, found, expected any) {
	t.Helper()
	if err := differ(what, found, expected); err != nil {
		t.Error(err)
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// works tells whether a strategy still runs steps that reduce.
func works(t *testing.T, strategy *mdist.Strategy, run run) {
	t.Helper()
	_, err := run(func(replica *mdist.Replica) error {
		x := []int64{int64(replica.ID() + 1)}
		if err := mdist.AllReduce(replica, mdist.Sum, x); err != nil {
			return err
		}
		n := int64(replica.Count())
		return differ("the sum", x[0], n*(n+1)/2)
	})
	succeeds(t, err)
}
