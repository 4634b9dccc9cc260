# SPDX-License-Identifier: Apache-2.0
"""
An error of the library, in full: the fields are those of `mdist_error_t`, and `message` is a sentence with the bad
value, the place and what would be right. `replica` is the id of the one at fault, and `rank` that of its worker, or -1.
"""
struct MdistError <: Exception
    status::Status
    reason::String
    operation::String
    replica::Int
    rank::Int
    native::Int
    message::String
end

"The number of a replica or worker, or -1 for MDIST_NONE."
or_none(number::UInt32) = number % Int32

"Takes the story out of a C error, and frees it."
function MdistError(status::Integer, error::Ptr{mdist_error_t})
    reason = unsafe_string(@ccall libmdist.mdist_error_reason(error::Ptr{mdist_error_t})::Cstring)
    operation = unsafe_string(@ccall libmdist.mdist_error_operation(error::Ptr{mdist_error_t})::Cstring)
    replica = or_none(@ccall libmdist.mdist_error_replica(error::Ptr{mdist_error_t})::UInt32)
    rank = or_none(@ccall libmdist.mdist_error_rank(error::Ptr{mdist_error_t})::UInt32)
    native = @ccall libmdist.mdist_error_native(error::Ptr{mdist_error_t})::Int64
    message = unsafe_string(@ccall libmdist.mdist_error_message(error::Ptr{mdist_error_t})::Cstring)
    @ccall libmdist.mdist_error_free(error::Ptr{mdist_error_t})::Cvoid
    return MdistError(Status(status), reason, operation, replica, rank, native, message)
end

Base.showerror(io::IO, error::MdistError) = print(io, "MdistError: ", error.message, " (", error.status, ")")

"""
    check(error -> @ccall ...)

Calls a C function, which gets a place for its error, and returns the status, `OK` or `END`; below 0 it is thrown.
"""
function check(call::F) where {F}
    error = Out{mdist_error_t}(C_NULL)
    status = call(error)
    status < 0 && throw(MdistError(status, error[]))
    return Status(status)
end

"""
    fail_because(exception)

Says in words why what this thread does fails, for the errors that other workers get. The number must follow at once: a
task that waits may go on another thread.
"""
function fail_because(exception)
    words = try
        exception isa MdistError ? exception.message : sprint(showerror, exception)
    catch
        string(typeof(exception))
    end
    text = replace(words, '\0' => ' ')
    @ccall libmdist.mdist_fail(0::Int32, text::Cstring)::Cvoid
    return nothing
end
