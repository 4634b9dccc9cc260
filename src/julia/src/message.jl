# SPDX-License-Identifier: Apache-2.0
# Messages: one replica sends an array to another, which receives it under the same tag, a number. Both sides pass the same
# type and number of elements.

"    send_start!(replica, to, tag, array): `send!`, started."
function send_start!(replica::Replica, to::Integer, tag::Integer, array::Operand; timeout::Real = 0)
    return start(replica, (timeout, nothing), (array,)) do buffers, out, limits, error
        @ccall libmdist.mdist_send_start(
            replica::Ptr{mdist_replica_t}, to::UInt32, tag::UInt64, buffers::Ptr{mdist_buffer_t},
            out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"    receive_start!(replica, from, tag, array): `receive!`, started."
function receive_start!(replica::Replica, from::Integer, tag::Integer, array::Operand; timeout::Real = 0)
    return start(replica, (timeout, nothing), (array,)) do buffers, out, limits, error
        @ccall libmdist.mdist_receive_start(
            replica::Ptr{mdist_replica_t}, from::UInt32, tag::UInt64, buffers::Ptr{mdist_buffer_t},
            out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"""
    send!(replica, to, tag, array; timeout = 0)

Sends an array to replica `to` (an id, from 0). More than 4096 bytes wait for their receiver: if two replicas send to each
other, start one side.
"""
send!(replica::Replica, to::Integer, tag::Integer, array; timeout::Real = 0) =
    wait(send_start!(replica, to, tag, array; timeout))

"""
    receive!(replica, from, tag, array; timeout = 0)

Receives into an array what replica `from` sends; equal ones in the order in which they were sent.
"""
receive!(replica::Replica, from::Integer, tag::Integer, array; timeout::Real = 0) =
    wait(receive_start!(replica, from, tag, array; timeout))
