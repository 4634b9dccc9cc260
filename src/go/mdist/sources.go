// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"io"
	"runtime"
	"runtime/cgo"
)

// NewRange makes a dataset of the int64 numbers start, start + step ... before stop.
func NewRange(start, stop, step int64) (*Dataset, error) {
	return newSource(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_range(C.int64_t(start), C.int64_t(stop), C.int64_t(step), out, nil, story)
	})
}

func newSource(create func(**C.mdist_dataset_t, **C.mdist_error_t) C.mdist_status_t) (*Dataset, error) {
	return (&Dataset{failures: &failures{}}).make(create)
}

// Generate fills the tensors of one element, whose content is undefined, or returns io.EOF at the end. The tensors die
// with the call.
type Generate func(outputs []Tensor) error

// generatorState is what the library calls back with for as long as a dataset or an iterator with this generator lives.
type generatorState struct {
	begin    func() (Generate, error)
	failures *failures
}

// NewGenerator makes a dataset of what functions make: begin is called for each iteration and epoch, and gives the
// function that makes its elements. The outputs are dtype and shape of each component (Describe). The functions run on
// the goroutine that asks for the element; with anyThread also on threads of the library, so that Prefetch may follow.
func NewGenerator(begin func() (Generate, error), anyThread bool, outputs ...Tensor) (*Dataset, error) {
	list := make([]C.mdist_tensor_t, len(outputs))
	for i, output := range outputs {
		output.data = nil // not read
		list[i] = output.c()
	}
	dataset := &Dataset{failures: &failures{}}
	return dataset.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		state := cgo.NewHandle(&generatorState{begin, dataset.failures})
		return C.mdistgo_dataset_from_generator(C.uintptr_t(state), first(list), C.size_t(len(list)), out,
			chosen(C.MDIST_DATASET_ANY_THREAD, anyThread), story)
	})
}

//export mdistgoGenerate
func mdistgoGenerate(index C.uint64_t, outputs *C.mdist_tensor_t, count C.size_t, iteration *C.uintptr_t,
	state C.uintptr_t) C.int32_t {
	call := cgo.Handle(state).Value().(*generatorState)
	ended := false
	code := call.failures.callBack(func() error {
		if index == 0 {
			generate, err := call.begin()
			if err != nil {
				return err
			}
			*iteration = C.uintptr_t(cgo.NewHandle(generate)) // mdistgoRelease deletes it
		}
		err := cgo.Handle(*iteration).Value().(Generate)(libraryTensors(outputs, count))
		if ended = err == io.EOF; ended {
			return nil
		}
		return err
	})
	if ended {
		return C.MDIST_END
	}
	return code
}

// NewFiles makes a dataset of the names of files, in this order. Whether they exist shows when they are read.
func NewFiles(paths ...string) (*Dataset, error) {
	return newNames(paths, func(texts **C.char, count C.size_t, out **C.mdist_dataset_t,
		story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_files(texts, count, out, nil, story)
	})
}

// MatchFiles makes a dataset of the sorted names of all files that match one of the patterns (`*`, `?` and `[a-z]`, as
// in a shell); ErrNotFound if there is none.
func MatchFiles(patterns ...string) (*Dataset, error) {
	return newNames(patterns, func(texts **C.char, count C.size_t, out **C.mdist_dataset_t,
		story **C.mdist_error_t) C.mdist_status_t {
		return C.mdist_dataset_match_files(texts, count, out, nil, story)
	})
}

func newNames(names []string, create func(**C.char, C.size_t, **C.mdist_dataset_t,
	**C.mdist_error_t) C.mdist_status_t) (*Dataset, error) {
	texts := make([]*C.char, len(names))
	for i, name := range names {
		text, err := cText("a name", name)
		if err != nil {
			return nil, err
		}
		defer freeText(text)
		texts[i] = text
	}
	return newSource(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return create(first(texts), C.size_t(len(texts)), out, story)
	})
}

// Compression says how the bytes of a file are compressed.
type Compression int32

// The zero value is NoCompression.
const (
	NoCompression Compression = C.MDIST_COMPRESSION_NONE
	Gzip          Compression = C.MDIST_COMPRESSION_GZIP
	Zlib          Compression = C.MDIST_COMPRESSION_ZLIB
)

// ReadOptions say how files are read. The zero value: one after the other, uncompressed.
type ReadOptions struct {
	Compression    Compression
	SkipCorrupt    bool   // leaves corrupt records out, and counts them (Iterator.Skipped); else they are ErrDataLoss
	CycleLength    uint64 // how many files are open at a time and take turns; 0: 1
	BlockLength    uint64 // how many records a file gives in its turn; 0: 1
	MaxRecordBytes uint64 // a longer record or line is corrupt; 0: 1 GiB
	ParallelFiles  uint64 // how many of the open files are read ahead at a time, on threads of the iterator
}

func (o ReadOptions) c() C.mdistgo_read_options {
	return C.mdistgo_read_options{C.int32_t(o.Compression), flag(o.SkipCorrupt) * C.MDIST_ON_CORRUPT_SKIP,
		C.uint64_t(o.CycleLength), C.uint64_t(o.BlockLength), C.uint64_t(o.MaxRecordBytes), C.uint64_t(o.ParallelFiles)}
}

// TextLines reads the lines of the files that d names, without line ends: uint8 tensors.
func (d *Dataset) TextLines(options ReadOptions) (*Dataset, error) {
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdistgo_dataset_text_lines(d.handle, options.c(), out, story)
	})
}

// TFRecords reads the records of TFRecord files, whose checksums are verified: uint8 tensors.
func (d *Dataset) TFRecords(options ReadOptions) (*Dataset, error) {
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdistgo_dataset_tfrecords(d.handle, options.c(), out, story)
	})
}

// FixedRecords reads records of so many bytes each, which lie between a header and a footer of each file.
func (d *Dataset) FixedRecords(record, header, footer int, options ReadOptions) (*Dataset, error) {
	var bytes [3]C.uint64_t
	for i, number := range []int{record, header, footer} {
		var err error
		if bytes[i], err = count("a number of bytes", number); err != nil {
			return nil, err
		}
	}
	return d.make(func(out **C.mdist_dataset_t, story **C.mdist_error_t) C.mdist_status_t {
		return C.mdistgo_dataset_fixed_records(d.handle, bytes[0], bytes[1], bytes[2], options.c(), out, story)
	})
}

// Skipped returns how many corrupt records the sources of the iterator have left out so far.
func (i *Iterator) Skipped() (uint64, error) {
	defer runtime.KeepAlive(i)
	var number C.uint64_t
	var story *C.mdist_error_t
	err := check(C.mdist_iterator_skipped(i.handle, &number, &story), &story)
	return uint64(number), err
}

// RecordWriter writes a TFRecord file. The file has another name in its folder until Commit: so there is always what was
// there before, or the new file as a whole.
type RecordWriter struct {
	handle *C.mdist_record_writer_t
}

// NewRecordWriter begins a file. Write `defer writer.Close()` behind it.
func NewRecordWriter(path string, compression Compression) (*RecordWriter, error) {
	name, err := cText("the path", path)
	if err != nil {
		return nil, err
	}
	defer freeText(name)
	options := C.mdist_record_writer_options_t{C.sizeof_mdist_record_writer_options_t, C.int32_t(compression)}
	writer := &RecordWriter{}
	var story *C.mdist_error_t
	err = check(C.mdist_record_writer_create(name, &writer.handle, &options, &story), &story)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(writer, (*RecordWriter).Close)
	return writer, nil
}

// Write adds a record.
func (w *RecordWriter) Write(record []byte) (int, error) {
	defer runtime.KeepAlive(w)
	var story *C.mdist_error_t
	err := check(C.mdist_record_writer_write(w.handle, address(record), C.size_t(len(record)), &story), &story)
	if err != nil {
		return 0, err
	}
	return len(record), nil
}

// Commit ends the file, flushes it to the disk and gives it its name.
func (w *RecordWriter) Commit() error {
	defer runtime.KeepAlive(w)
	var story *C.mdist_error_t
	return check(C.mdist_record_writer_close(w.handle, &story), &story)
}

// Close frees the writer, and removes the file if it was not committed.
func (w *RecordWriter) Close() {
	runtime.SetFinalizer(w, nil)
	C.mdist_record_writer_destroy(w.handle)
}
