// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// What of elastic jobs can be shown in one process of fixed size; elastic/main.go has the rest.

func TestAJobOfFixedSizeIsNotElastic(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	_, regrouped := strategy.Regroup()
	for _, err := range []error{strategy.Commit(1), regrouped} {
		var failed *mdist.Error
		if !errors.As(err, &failed) || failed.Reason != "not_elastic" {
			t.Errorf("found %v", err)
		}
	}
	equal(t, "it is no newcomer", strategy.IsJoining(), false)
	works(t, strategy, strategy.Run)
}

func TestBlobsTellWhatIsWrong(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	nothing := func(int, []byte) error { return nil }
	blob := must(strategy.NewBlob("state", 8, nothing, nothing))
	for _, wrong := range []func() (*mdist.Blob, error){
		func() (*mdist.Blob, error) { return strategy.NewBlob("", 8, nothing, nothing) },
		func() (*mdist.Blob, error) { return strategy.NewBlob("other", -1, nothing, nothing) },
		func() (*mdist.Blob, error) { return strategy.NewBlob("other", 8, nil, nothing) },
	} {
		if _, err := wrong(); !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("found %v", err)
		}
	}
	blob.Close()
	must(strategy.NewBlob("state", 8, nothing, nothing)).Close()
}
