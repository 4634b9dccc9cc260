// SPDX-License-Identifier: Apache-2.0
// The beginning of every function in the tables. It counts the call, injects a fault if one is planned, and checks that
// the GPU exists and has not failed.
#pragma once

#include "errors.h"
#include "faults.h"
#include "options.h"
#include "streams.h"

#include <new>

namespace fake_gpu {

/// Returns the error of a fault. kFatal also makes the GPU fail.
int error_of(Fault fault, int32_t device);

inline bool is_device(int32_t device) {
    return device >= 0 && device < options().devices;
}

/// A call that does nothing if a fault is planned for it.
template <typename Body>
int call(const char *name, int32_t device, Body &&body) {
    const Fault fault = count_call(name);
    if (!is_device(device)) return note_problem("a GPU was named that there is not"), kInvalidDevice;
    if (const int error = reported_error(device)) return error;
    if (fault == Fault::kHang) hang(begin_hang());
    if (const int error = error_of(fault, device)) return error;
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return kOutOfMemory;
    }
}

/// A call that releases something. It does so even if it returns the error of earlier work, as CUDA's functions do.
template <typename Body>
int call_at_last(const char *name, int32_t device, Body &&body) {
    const Fault fault = count_call(name);
    if (!is_device(device)) return note_problem("a GPU was named that there is not"), kInvalidDevice;
    if (fault == Fault::kHang) hang(begin_hang());
    const int own = body();
    const int injected = error_of(fault, device);
    const int sticky = reported_error(device);
    return own != kOk ? own : sticky != kOk ? sticky : injected;
}

/// A call that gives a stream work. If it is to hang, the stream hangs, not the caller.
template <typename MakeJob>
int call_stream(const char *name, int32_t device, mdist_gpu_stream *stream, MakeJob &&make_job) {
    const Fault fault = count_call(name);
    if (!is_device(device)) return note_problem("a GPU was named that there is not"), kInvalidDevice;
    if (const int error = reported_error(device)) return error;
    try {
        if (fault == Fault::kHang)
            return push(device, stream, [device, begun = begin_hang()] {
                return hang(begun, [device] { return device_error(device) != 0; }), int{kOk};
            });
        if (const int error = error_of(fault, device)) return error;
        return push(device, stream, make_job());
    } catch (const std::bad_alloc &) {
        return kOutOfMemory;
    }
}

} // namespace fake_gpu
