// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// all reads a component of every element.
func all[T mdist.Number](t *testing.T, dataset *mdist.Dataset, component int) (elements [][]T) {
	t.Helper()
	each(t, dataset, func(_ *mdist.Iterator, values []*mdist.Value) {
		elements = append(elements, content[T](values[component], 0))
	})
	return elements
}

func texts(t *testing.T, dataset *mdist.Dataset) (all_ []string) {
	t.Helper()
	for _, bytes := range all[uint8](t, dataset, 0) {
		all_ = append(all_, string(bytes))
	}
	return all_
}

func TestDatasetsAreChosenJoinedAndCut(t *testing.T) {
	five := must(mdist.NewRange(0, 5, 1))
	odd := must(five.Filter(func(inputs []mdist.Tensor) (bool, error) { return mdist.Copy[int64](inputs[0])[0]%2 == 1, nil }))
	ragged := must(must(five.Batch(5, false)).Rebatch(false, 1, 4))
	padding := mdist.Padding{Value: mdist.Scalar(int64(-1)), Shape: []int{mdist.UnknownLength}}
	for what, one := range map[string]struct {
		dataset   *mdist.Dataset
		component int
		expected  [][]int64
	}{
		"range":       {must(mdist.NewRange(5, -2, -3)), 0, [][]int64{{5}, {2}, {-1}}},
		"take":        {must(five.Take(2)), 0, [][]int64{{0}, {1}}},
		"skip":        {must(five.Skip(3)), 0, [][]int64{{3}, {4}}},
		"filter":      {odd, 0, [][]int64{{1}, {3}}},
		"concatenate": {must(odd.Concatenate(must(five.Take(1)))), 0, [][]int64{{1}, {3}, {0}}},
		"zip":         {must(mdist.Zip(odd, five)), 1, [][]int64{{0}, {1}}},
		"unbatch":     {must(must(must(five.Take(2)).Batch(2, false)).Unbatch()), 0, [][]int64{{0}, {1}}},
		"cache":       {must(must(five.Take(1)).Cache()), 0, [][]int64{{0}}},
		"rebatch":     {ragged, 0, [][]int64{{0}, {1, 2, 3, 4}}},
		"padded":      {must(ragged.PaddedBatch(2, false)), 0, [][]int64{{0, 0, 0, 0, 1, 2, 3, 4}}},
		"padding":     {must(ragged.PaddedBatch(2, false, padding)), 0, [][]int64{{0, -1, -1, -1, 1, 2, 3, 4}}},
	} {
		equal(t, what, all[int64](t, one.dataset, one.component), one.expected)
	}
}

func TestErrorsInJoinedDatasetsComeBack(t *testing.T) {
	five, wrong := must(mdist.NewRange(0, 5, 1)), errors.New("bad row")
	bad := must(five.Filter(func([]mdist.Tensor) (bool, error) { return false, wrong }))
	for what, dataset := range map[string]*mdist.Dataset{
		"concatenate": must(bad.Concatenate(five)), "zip": must(mdist.Zip(five, bad)),
	} {
		if _, err := must(dataset.Iterate()).Next(); !errors.Is(err, wrong) || !errors.Is(err, mdist.ErrCallback) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAGeneratorBeginsAnewInEveryEpoch(t *testing.T) {
	wrong := errors.New("three is too much")
	countTo := func(end int64, anyThread bool) *mdist.Dataset {
		begin := func() (mdist.Generate, error) {
			next := int64(0)
			return func(outputs []mdist.Tensor) error {
				if next == end {
					return io.EOF
				}
				if next == 3 {
					return wrong
				}
				mdist.UnsafeSlice[int64](outputs[0])[0] = next
				next++
				return nil
			}, nil
		}
		return must(mdist.NewGenerator(begin, anyThread, mdist.Describe[int64]()))
	}
	equal(t, "two epochs", all[int64](t, must(countTo(2, false).Repeat(2)), 0), [][]int64{{0}, {1}, {0}, {1}})
	equal(t, "ahead", all[int64](t, must(countTo(2, true).Prefetch(1)), 0), [][]int64{{0}, {1}})
	iterator := must(countTo(9, false).Iterate())
	var err error
	for err == nil {
		_, err = iterator.Next()
	}
	if !errors.Is(err, wrong) {
		t.Errorf("the generator's error: %v", err)
	}
	var failure *mdist.Error
	if _, err := countTo(2, false).Prefetch(1); !errors.As(err, &failure) ||
		failure.Reason != "callers_thread" {
		t.Errorf("ahead on another thread: %v", err)
	}
	begin := func() (mdist.Generate, error) { return nil, wrong }
	if _, err := must(must(mdist.NewGenerator(begin, false, mdist.Describe[int64]())).Iterate()).Next(); !errors.Is(err, wrong) {
		t.Errorf("the error of the beginning: %v", err)
	}
}

func TestFilesAreMatchedReadAndWritten(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	for name, text := range map[string]string{"part-0.txt": "a\nbc\r\n", "part-1.txt": "d", "fixed": "HHabcdefF"} {
		succeeds(t, os.WriteFile(path(name), []byte(text), 0o600))
	}
	names := must(mdist.MatchFiles(path("part-?.txt")))
	equal(t, "lines", texts(t, must(names.TextLines(mdist.ReadOptions{}))), []string{"a", "bc", "d"})
	equal(t, "turns", texts(t, must(names.TextLines(mdist.ReadOptions{CycleLength: 2}))), []string{"a", "d", "bc"})
	fixed := must(must(mdist.NewFiles(path("fixed"))).FixedRecords(3, 2, 1, mdist.ReadOptions{}))
	equal(t, "fixed", texts(t, fixed), []string{"abc", "def"})
	if _, err := mdist.MatchFiles(path("none-*")); !errors.Is(err, mdist.ErrNotFound) {
		t.Errorf("no match: %v", err)
	}

	writer := must(mdist.NewRecordWriter(path("records"), mdist.Gzip))
	defer writer.Close()
	for _, record := range []string{"first", ""} {
		must(writer.Write([]byte(record)))
	}
	if _, err := os.Stat(path("records")); err == nil {
		t.Error("the file is there before it is committed")
	}
	succeeds(t, writer.Commit())
	files := must(mdist.NewFiles(path("records")))
	equal(t, "records", texts(t, must(files.TFRecords(mdist.ReadOptions{Compression: mdist.Gzip}))), []string{"first", ""})
	if _, err := must(must(files.TFRecords(mdist.ReadOptions{})).Iterate()).Next(); !errors.Is(err, mdist.ErrDataLoss) {
		t.Errorf("corrupt: %v", err)
	}
	iterator := must(must(files.TFRecords(mdist.ReadOptions{SkipCorrupt: true})).Iterate())
	if _, err := iterator.Next(); err != io.EOF || must(iterator.Skipped()) != 1 {
		t.Errorf("not skipped: %v", err)
	}
	unfinished := must(mdist.NewRecordWriter(path("unfinished"), mdist.NoCompression))
	unfinished.Close()
	equal(t, "files", len(must(filepath.Glob(path("*unfinished*")))), 0)
}
