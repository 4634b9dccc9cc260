# SPDX-License-Identifier: Apache-2.0
"""
    @gc_safe @ccall ...

Lets the garbage collector run while a C function waits. It must not call Julia back, and its arguments must be plain
numbers and pointers, whose owners the caller keeps: nothing may be converted, let alone allocated, on the way.
(Julia has this as `@ccall gc_safe=true` from 1.12 on, and these two functions since before 1.9.)
"""
macro gc_safe(call)
    return quote
        state = @ccall jl_gc_safe_enter()::Int8
        result = $(esc(call))
        @ccall jl_gc_safe_leave(state::Int8)::Cvoid
        result
    end
end
