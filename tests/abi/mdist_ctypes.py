# SPDX-License-Identifier: Apache-2.0
"""A small binding, as somebody without a compiler would write it from the headers."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

OK = 0
FLOAT32 = 1
SUM = 1


class Buffer(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("elements", c_uint64), ("dtype", c_int32), ("reserved", c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("device_kind", c_int32),
        ("device_index", c_int32),
        ("shape", c_uint64 * 8),
    ]


class CallOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("timeout_ns", c_uint64)]


class VariableOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("synchronization", c_int32), ("aggregation", c_int32),
                ("reserved", c_int32)]


class InputOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32)]


Step = CFUNCTYPE(c_int32, c_void_p, c_void_p)

# Result and parameters. Handles are 64-bit numbers: without this table ctypes would cut them to 32 bits.
FUNCTIONS = {
    "mdist_version": (c_uint32, []),
    "mdist_has": (c_int32, [c_char_p]),
    "mdist_status_name": (c_char_p, [c_int32]),
    "mdist_error_status": (c_int32, [c_void_p]),
    "mdist_error_message": (c_char_p, [c_void_p]),
    "mdist_error_reason": (c_char_p, [c_void_p]),
    "mdist_error_operation": (c_char_p, [c_void_p]),
    "mdist_error_native": (c_int64, [c_void_p]),
    "mdist_error_replica": (c_int32, [c_void_p]),
    "mdist_error_free": (None, [c_void_p]),
    "mdist_config_create": (c_int32, [POINTER(c_void_p), POINTER(c_void_p)]),
    "mdist_config_set": (c_int32, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "mdist_config_get": (c_int32, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t), POINTER(c_void_p)]),
    "mdist_config_destroy": (None, [c_void_p]),
    "mdist_tensor_describe": (
        c_int32, [c_void_p, c_int32, POINTER(c_uint64), c_size_t, POINTER(Tensor), POINTER(c_void_p)]),
    "mdist_tensor_elements": (c_uint64, [POINTER(Tensor)]),
    "mdist_strategy_create": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "mdist_strategy_destroy": (None, [c_void_p]),
    "mdist_strategy_replica_count": (c_uint32, [c_void_p]),
    "mdist_replica_id": (c_int32, [c_void_p]),
    "mdist_run": (
        c_int32,
        [c_void_p, Step, c_void_p, POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, POINTER(CallOptions),
         POINTER(c_void_p)]),
    "mdist_all_reduce": (
        c_int32,
        [c_void_p, c_int32, POINTER(Buffer), POINTER(Buffer), c_size_t, POINTER(CallOptions), POINTER(c_void_p)]),
}


class MdistError(Exception):
    def __init__(self, library, handle):
        self.status = library.mdist_status_name(library.mdist_error_status(handle)).decode()
        self.reason = library.mdist_error_reason(handle).decode()
        self.operation = library.mdist_error_operation(handle).decode()
        self.native = library.mdist_error_native(handle)
        super().__init__(library.mdist_error_message(handle).decode())
        library.mdist_error_free(handle)


def load(path):
    library = ctypes.CDLL(path)
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def call(library, name, *arguments):
    """Calls a function that gives a status; its failure becomes an MdistError."""
    error = c_void_p()
    status = getattr(library, name)(*arguments, byref(error))
    if status < 0:
        raise MdistError(library, error)
    return status
