# SPDX-License-Identifier: Apache-2.0
"""libmdist for Python: mirrored training on all devices of a machine, or of several.

    import mdist
    import numpy as np

    def step(replica, x):  # runs on every replica at the same time
        total = x * (replica.id + 1)
        replica.all_reduce("sum", total)  # in place
        return total

    with mdist.Strategy(devices="cpu*2") as strategy:
        total = strategy.run(step, np.ones(3, "float32"), results=1)  # a Value: one array per replica
        print(total.numpy(0))  # [3. 3. 3.]

Needs CPython 3.9 or later, 64-bit Linux and libmdist. The package looks for libmdist.so.2 in this order: the path in
MDIST_LIBRARY; the folder of the package; the loader's folders; the folder that pkg-config knows. NumPy is optional:
without it arrays are flat memoryviews.

Arrays. Whatever has a buffer (NumPy, array.array, ctypes), __dlpack__ (tensors of PyTorch on the CPU) or
__cuda_array_interface__ goes in as an array. Where it is only read, so do numbers and lists of numbers, whose elements
are int64 if all are whole, else float64.

Memory. Arrays go in and come out without copies, except where a docstring says "a copy", and except for arrays that are
not C-contiguous: of these the library reads a copy. What the library keeps, it keeps alive. An array over the library's
memory keeps that memory alive. Dtypes are those of the array, exactly. Typed(array, "bfloat16") says that 16-bit
elements have another type than their dtype tells.

Threads. Every call releases the interpreter's lock, so replicas compute in parallel wherever NumPy does. Steps run on
threads of the library, replica 0 on the caller's. With Strategy.run_begin they run on threads of your own. Any thread
may use any object. Two at once on one strategy, iterator or replica are an Error, reason `busy`, or forbidden by the C
header (see @thread there).

Errors. A call that fails raises Error. An exception in a step, merge, map or update function fails the run, and the
Error that run() raises has the first of them as its __cause__. Arguments that are wrong by their type or value raise
TypeError or ValueError before anything happens.
"""
from . import typing
from ._abi import *  # noqa: F403
from ._abi import __all__ as _abi_names, __version__
from ._capsules import _DLTensor, _Export, _capsule_pointer
from ._dtypes import Dense, Typed, _TYPES
from ._held import _Held, _kept
from ._library import _lib
from ._numpy import numpy
from ._tensors import _tensor
from ._views import GpuArray
from .checkpoints import Checkpoint, latest_checkpoint
from .config import Config
from .context import current_replica, current_strategy, set_default_strategy
from .datasets import Dataset
from .dlpack import from_dlpack
from .elastic import Blob, Regrouped
from .errors import Error, _call
from .gpu import Gpus, copy, gpus
from .gradients import Gradients, Reduced
from .group import Group
from .info import has, version
from .input import InputPipeline
from .iterators import Iterator
from .log import log_set_level, log_set_sink
from .loop import Loop
from .memory import alloc, alloc_pinned
from .operators import Operator
from .prepared import Preparation, Prepared
from .records import RecordWriter
from .replica import Replica
from .runs import Run
from .strategy import Strategy
from .values import Value
from .variables import Variable
from .work import Work

Error.__module__ = __name__  # tracebacks say mdist.Error

__all__ = [
    *_abi_names, "Blob", "Checkpoint", "Config", "Dataset", "Dense", "Error", "GpuArray", "Gpus", "Gradients", "Group",
    "InputPipeline", "Iterator", "Loop", "Operator", "Preparation", "Prepared", "RecordWriter", "Reduced",
    "Regrouped", "Replica", "Run", "Strategy", "Typed", "Value", "Variable", "Work", "__version__", "alloc",
    "alloc_pinned", "copy", "current_replica", "current_strategy", "from_dlpack", "gpus", "has", "latest_checkpoint",
    "log_set_level", "log_set_sink", "set_default_strategy", "typing", "version",
]
