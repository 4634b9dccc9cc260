# SPDX-License-Identifier: Apache-2.0
"""
What holds a C handle and gives it back when Julia has no more use for it, or at once with `close`.

The functions that destroy wait for nobody, may run in any order and on any thread, and never call back: all that
finalizers need. A handle that was closed is not reused; the library refuses it with `ERR_BAD_HANDLE`. Arrays over
memory of what was closed must not be touched again.

A C function that takes a handle gets the Julia object (`config::Ptr{mdist_config_t}`), which `unsafe_convert` turns
into the handle: so the object lives until the call is over, and no finalizer comes in between.
"""
abstract type Handle end

Base.close(handle::Handle) = finalize(handle)
