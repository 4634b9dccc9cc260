// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// failures keeps what the caller's functions returned or panicked with, while the library carries a number in its
// place. The library knows which came first; the number leads back to the error. No call into C holds the lock.
type failures struct {
	lock   sync.Mutex
	errors map[int32]error
	others []*failures
}

// lastNumber makes numbers the process's own, so that failures can look in others.
var lastNumber uint32

// add returns the number that stands for err: never 0 or 1, which would be success or the end.
func (f *failures) add(err error) int32 {
	number := int32(atomic.AddUint32(&lastNumber, 1)%(math.MaxInt32-1)) + 2
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.errors == nil {
		f.errors = map[int32]error{}
	}
	f.errors[number] = err
	return number
}

// lookIn also finds the errors of another: where datasets are joined.
func (f *failures) lookIn(other *failures) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.others = append(f.others, other)
}

// find returns the error with a number; nil if there is none.
func (f *failures) find(number int64) error {
	f.lock.Lock()
	err, others := f.errors[int32(number)], f.others
	f.lock.Unlock()
	for i := 0; err == nil && i < len(others); i++ {
		err = others[i].find(number)
	}
	return err
}

// call runs function and returns 0, or the number of what went wrong. No panic leaves it.
func (f *failures) call(function func() error) (code int32) {
	returned := false
	defer func() {
		if !returned {
			code = f.add(caughtPanic(recover()))
		}
	}()
	err := function()
	returned = true
	if err != nil {
		return f.add(err)
	}
	return 0
}

// callBack is call on behalf of the library, which is told the error in words, too, for what other workers get.
func (f *failures) callBack(function func() error) C.int32_t {
	code := f.call(function)
	if code != 0 {
		why := f.words(code)
		C.mdist_fail(0, why)
		freeText(why)
	}
	return C.int32_t(code)
}

// words returns what the error with a number says, for freeText; nil for 0, or if its Error panics.
func (f *failures) words(code int32) (text *C.char) {
	if code == 0 {
		return nil
	}
	defer func() { _ = recover() }()
	whole, _, _ := strings.Cut(f.find(int64(code)).Error(), "\x00")
	return C.CString(whole)
}

// explain joins the library's error with the function's error that caused it, if one did.
func (f *failures) explain(err error) error {
	failure, ok := err.(*Error)
	if !ok {
		return err
	}
	if failure.Status == ErrCallback {
		if failure.Native >= 1 && failure.Native <= math.MaxInt32 {
			failure.cause = f.find(failure.Native)
		}
		return failure
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, recorded := range f.errors { // perhaps a step wrapped what a collective told it
		var inner *Error
		if errors.As(recorded, &inner) && recorded != error(inner) && inner.message == failure.message {
			failure.cause = recorded
			break
		}
	}
	return failure
}
