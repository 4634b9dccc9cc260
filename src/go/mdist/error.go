// SPDX-License-Identifier: Apache-2.0

package mdist

/*
#cgo pkg-config: mdist
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Status says what kind of thing went wrong. Each is an error to compare with by errors.Is.
type Status int32

// The list is closed, and its numbers never change.
const (
	ErrInvalidArgument    Status = C.MDIST_ERR_INVALID_ARGUMENT    // a value that no call of this kind could accept
	ErrBadHandle          Status = C.MDIST_ERR_BAD_HANDLE          // closed, or never made
	ErrWrongContext       Status = C.MDIST_ERR_WRONG_CONTEXT       // right call, wrong place
	ErrFailedPrecondition Status = C.MDIST_ERR_FAILED_PRECONDITION // not now
	ErrConfig             Status = C.MDIST_ERR_CONFIG              // a configuration that cannot be used
	ErrNotFound           Status = C.MDIST_ERR_NOT_FOUND
	ErrUnsupported        Status = C.MDIST_ERR_UNSUPPORTED // this build or this host lacks it
	ErrOutOfMemory        Status = C.MDIST_ERR_OUT_OF_MEMORY
	ErrResource           Status = C.MDIST_ERR_RESOURCE // threads, file descriptors, handles
	ErrIO                 Status = C.MDIST_ERR_IO
	ErrDataLoss           Status = C.MDIST_ERR_DATA_LOSS // bytes that are not what they should be
	ErrMismatch           Status = C.MDIST_ERR_MISMATCH  // replicas disagree: operation, type, shape, order
	ErrTimeout            Status = C.MDIST_ERR_TIMEOUT
	ErrPeerLost           Status = C.MDIST_ERR_PEER_LOST
	ErrAborted            Status = C.MDIST_ERR_ABORTED // an earlier failure, or Abort, ended all collectives
	ErrUnauthenticated    Status = C.MDIST_ERR_UNAUTHENTICATED
	ErrCallback           Status = C.MDIST_ERR_CALLBACK // your function returned an error, or panicked
	ErrDevice             Status = C.MDIST_ERR_DEVICE
	ErrInternal           Status = C.MDIST_ERR_INTERNAL // a fault of the library: please report it
)

// Error returns the status's name, such as "MDIST_ERR_TIMEOUT".
func (s Status) Error() string { return C.GoString(C.mdist_status_name(C.mdist_status_t(s))) }

// Error is what the library refused or what failed in it.
type Error struct {
	Status    Status
	Reason    string // a stable word for programs, such as "step_returned"; "" where the status says enough
	Operation string // the call or collective that failed, such as "mdist_all_reduce"
	Replica   int    // id of the one at fault, or -1 where it is nobody's or not known
	Rank      int    // rank of the one at fault, or -1 likewise
	Native    int64  // the number underneath: errno, or 0
	message   string
	cause     error
}

// Error returns the library's sentence and, where your own function failed, what that said.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.message
	}
	cause := e.cause.Error()
	switch { // a step that passes on what a collective told it says nothing new
	case strings.Contains(cause, e.message):
		return cause
	case strings.Contains(e.message, cause):
		return e.message
	default:
		return e.message + ": " + cause
	}
}

// Unwrap returns the error of the step, merge, update or map function that was the first cause, if it was one.
func (e *Error) Unwrap() error { return e.cause }

// Is says whether target is this error's status.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// PanicError carries what a step, merge, update or map function panicked with.
type PanicError struct {
	Value any
	Stack []byte // as runtime/debug.Stack gives it
	place string // " (main.go:42)", or "" if it is not known
}

// caughtPanic makes an error of what recover has returned, in the function that called recover.
func caughtPanic(value any) *PanicError {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	place, panicked := "", false
	for more := true; more && place == ""; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			place = fmt.Sprintf(" (%s:%d)", filepath.Base(frame.File), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
	}
	return &PanicError{value, debug.Stack(), place}
}

func (e *PanicError) Error() string { return fmt.Sprint("panic: ", e.Value, e.place) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// check makes an error of what a call of the library returned. It takes the address of the call's last argument, since
// Go does not say whether arguments are evaluated before or after the call beside them.
func check(status C.mdist_status_t, story **C.mdist_error_t) error {
	if status >= 0 {
		return nil
	}
	defer C.mdist_error_free(*story)
	return &Error{
		Status:    Status(status),
		Reason:    C.GoString(C.mdist_error_reason(*story)),
		Operation: C.GoString(C.mdist_error_operation(*story)),
		Replica:   orNone(C.mdist_error_replica(*story)),
		Rank:      orNone(C.mdist_error_rank(*story)),
		Native:    int64(C.mdist_error_native(*story)),
		message:   C.GoString(C.mdist_error_message(*story)),
	}
}

// orNone gives the number of a replica or worker, or -1 for MDIST_NONE.
func orNone(number C.uint32_t) int {
	return int(int32(number))
}
