// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"example.org/libmdist/src/go/mdist"
)

// save leaves checkpoint 3 in a folder: two variables and a text.
func save(t *testing.T, folder string) {
	strategy := newStrategy(2)
	defer strategy.Close()
	weights := must(strategy.NewVariable("weights", mdist.TensorOf([]float32{1, 2, 3, 4}, 2, 2), mdist.VariableOptions{}))
	options := mdist.VariableOptions{Synchronization: mdist.SyncOnRead, Aggregation: mdist.AggregateSum}
	seen := must(strategy.NewVariable("seen", mdist.TensorOf([]int64{6}), options))
	checkpoint := must(strategy.NewCheckpoint(folder, 2))
	defer checkpoint.Close()
	succeeds(t, checkpoint.Add("model/w", weights))
	succeeds(t, checkpoint.Add("", seen))
	weights.Close() // the checkpoint keeps it
	runtime.GC()
	succeeds(t, checkpoint.SetText("epoch", "7"))
	equal(t, "keys", must(checkpoint.Keys()), []string{"epoch"})
	succeeds(t, checkpoint.Save(3))
}

func TestAnyNumberOfReplicasRestoresACheckpoint(t *testing.T) {
	folder := t.TempDir()
	if _, err := mdist.LatestCheckpoint(folder); !errors.Is(err, mdist.ErrNotFound) {
		t.Errorf("the latest of none: %v", err)
	}
	save(t, folder)
	equal(t, "latest", must(mdist.LatestCheckpoint(folder)), uint64(3))
	for replicas := 1; replicas <= 3; replicas++ {
		strategy := newStrategy(replicas)
		weights := must(strategy.NewVariable("w", mdist.Describe[float32](2, 2), mdist.VariableOptions{}))
		checkpoint := must(strategy.NewCheckpoint(folder, 0))
		succeeds(t, checkpoint.Add("model/w", weights))
		if _, err := checkpoint.Restore(mdist.Latest); !errors.Is(err, mdist.ErrMismatch) {
			t.Errorf("a file with more in it: %v", err)
		}
		equal(t, "number", must(checkpoint.RestorePartial(mdist.Latest)), uint64(3))
		equal(t, "weights", mdist.Copy[float32](must(weights.Tensor(replicas-1))), []float32{1, 2, 3, 4})
		equal(t, "epoch", must(checkpoint.Text("epoch")), "7")
		if _, err := checkpoint.Text("step"); !errors.Is(err, mdist.ErrNotFound) {
			t.Errorf("a text that is not there: %v", err)
		}
		strategy.Close()
	}
}

func TestADamagedCheckpointChangesNothing(t *testing.T) {
	folder := t.TempDir()
	save(t, folder)
	path := filepath.Join(folder, "checkpoint-3.safetensors")
	content := must(os.ReadFile(path))
	content[len(content)-1] ^= 1
	succeeds(t, os.WriteFile(path, content, 0o600))
	strategy := newStrategy(2)
	weights := must(strategy.NewVariable("model/w", mdist.Describe[float32](2, 2), mdist.VariableOptions{}))
	seen := must(strategy.NewVariable("seen", mdist.Describe[int64](1), mdist.VariableOptions{}))
	checkpoint := must(strategy.NewCheckpoint(folder, 0))
	succeeds(t, checkpoint.Add("", weights))
	succeeds(t, checkpoint.Add("", seen))
	if _, err := checkpoint.Restore(3); !errors.Is(err, mdist.ErrDataLoss) {
		t.Errorf("found %v", err)
	}
	equal(t, "weights", mdist.Copy[float32](must(weights.Tensor(0))), []float32{0, 0, 0, 0})
	checkpoint.Close()
	if err := checkpoint.Save(4); !errors.Is(err, mdist.ErrBadHandle) {
		t.Errorf("a closed one: %v", err)
	}
	if err := checkpoint.SetText("a\x00", ""); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("a key with a NUL: %v", err)
	}
}

func TestPositionsOfIteratorsAreRestoredAndAllFilesRemoved(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	folder := t.TempDir()
	numbers := must(mdist.NewRange(0, 9, 1))
	first, second := must(numbers.Iterate()), must(numbers.Iterate())
	must(first.Next())
	must(first.Next())
	saved, restored := must(strategy.NewCheckpoint(folder, 0)), must(strategy.NewCheckpoint(folder, 0))
	succeeds(t, saved.AddIterator("rows", first))
	succeeds(t, saved.Save(4))
	succeeds(t, restored.AddIterator("rows", second))
	equal(t, "the number", must(restored.Restore(mdist.Latest)), uint64(4))
	equal(t, "the position", content[int64](must(second.Next())[0], 0), []int64{2})
	succeeds(t, restored.Clear())
	if _, err := restored.Restore(mdist.Latest); !errors.Is(err, mdist.ErrNotFound) {
		t.Errorf("found %v", err)
	}
	equal(t, "a feature that nobody has", mdist.Has("magic"), false)
	equal(t, "the version", mdist.Version() >= 200, true)
}

func TestAnAnnouncementEndsTheProgramAtTheNextCheck(t *testing.T) {
	for _, expected := range [][]mdist.Verdict{{mdist.SaveAndEnd}, {mdist.SaveAndOn, mdist.GoOn}} {
		strategy := newStrategy(2)
		verdict, rank, err := strategy.CheckMembership()
		succeeds(t, err)
		equal(t, "verdict and rank before", []int{int(verdict), rank}, []int{int(mdist.GoOn), -1})
		announced := make(chan struct{})
		go func() { strategy.Leave(time.Duration(len(expected)-1) * time.Hour); close(announced) }()
		<-announced
		for _, one := range expected {
			verdict, rank, err = strategy.CheckMembership()
			succeeds(t, err)
			equal(t, "verdict", verdict, one)
			equal(t, "rank", rank, 0)
		}
		strategy.Close()
		strategy.Leave(0) // ignored
	}
}

func TestHealthIsWhatEndedAllCollectives(t *testing.T) {
	strategy := newStrategy(2)
	succeeds(t, strategy.CheckHealth())
	strategy.Abort()
	if err := strategy.CheckHealth(); !errors.Is(err, mdist.ErrAborted) {
		t.Errorf("found %v", err)
	}
}
