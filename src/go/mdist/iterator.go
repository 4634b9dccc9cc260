// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"io"
	"runtime"
)

// Iterator produces the elements of a dataset. One goroutine at a time.
type Iterator struct {
	handle     *C.mdist_iterator_t
	components int
	failures   *failures
}

// Iterate starts an iteration.
func (d *Dataset) Iterate() (*Iterator, error) {
	iterator := &Iterator{components: d.Components(), failures: d.failures}
	var story *C.mdist_error_t
	err := check(C.mdist_iterator_create(d.handle, &iterator.handle, &story), &story)
	runtime.KeepAlive(d)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(iterator, (*Iterator).destroy)
	return iterator, nil
}

// Next gives the next element: one value for each component, per-replica from a distributed dataset. After the last it
// returns io.EOF, again and again. Close the values when they are no longer needed.
func (i *Iterator) Next() ([]*Value, error) {
	values := make([]*C.mdist_value_t, i.components)
	var story *C.mdist_error_t
	status := C.mdist_iterator_next(i.handle, first(values), C.size_t(len(values)), &story)
	runtime.KeepAlive(i)
	if status == C.MDIST_END {
		return nil, io.EOF
	}
	if err := check(status, &story); err != nil {
		return nil, i.failures.explain(err)
	}
	return newValues(values), nil
}

// Close ends the iteration and frees the iterator. When it returns, no map function runs for it any more.
func (i *Iterator) Close() {
	C.mdist_iterator_close(i.handle, nil)
	i.destroy()
}

// destroy frees the iterator without waiting, as a finalizer must: a map function under way runs to its end.
func (i *Iterator) destroy() {
	runtime.SetFinalizer(i, nil)
	C.mdist_iterator_destroy(i.handle)
}
