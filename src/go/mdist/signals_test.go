// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// Go itself forgets SIGXFSZ, but whoever asked for signals would get it.
func TestALimitOnTheSizeOfFilesIsAnError(t *testing.T) {
	const limitOfFiles = 1 // RLIMIT_FSIZE
	var before syscall.Rlimit
	succeeds(t, syscall.Getrlimit(limitOfFiles, &before))
	raised := make(chan os.Signal, 1)
	signal.Notify(raised, syscall.SIGXFSZ, syscall.SIGPIPE)
	folder := t.TempDir()
	strategy := newStrategy(2)
	defer strategy.Close()
	weights := must(strategy.NewVariable("weights", mdist.TensorOf(make([]float32, 1000), 1000), mdist.VariableOptions{}))
	defer weights.Close()
	checkpoint := must(strategy.NewCheckpoint(folder, 2))
	defer checkpoint.Close()
	succeeds(t, checkpoint.Add("", weights))
	succeeds(t, syscall.Setrlimit(limitOfFiles, &syscall.Rlimit{Cur: 1000, Max: before.Max}))
	err := checkpoint.Save(1)
	succeeds(t, syscall.Setrlimit(limitOfFiles, &before))
	if !errors.Is(err, mdist.ErrIO) {
		t.Errorf("a checkpoint beyond the limit: %v", err)
	}
	equal(t, "files that are left", len(must(os.ReadDir(folder))), 0)
	succeeds(t, checkpoint.Save(1))
	signal.Stop(raised) // returns when what has come is in the channel
	equal(t, "signals", len(raised), 0)
}
