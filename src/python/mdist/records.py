# SPDX-License-Identifier: Apache-2.0
"""TFRecord files that are being written."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import Any

from ._abi import Compression, RecordWriterOptions
from ._arguments import _choice
from ._held import _Destroyable
from ._library import _lib
from ._tensors import _view
from .errors import _call, _kind, _new


class RecordWriter(_Destroyable):
    """Writes a TFRecord file: with mdist.RecordWriter("part-0.tfrecord") as writer: writer.write(b"...").

    The file has another name in its folder until it is closed. So `path` always holds what was there before, or the
    new file as a whole. A `with` that an exception leaves removes the new file.
    """

    _destroy = _lib.mdist_record_writer_destroy

    def __init__(self, path: str | os.PathLike[str],
                 compression: Compression | str = Compression.COMPRESSION_NONE) -> None:
        options = RecordWriterOptions(ctypes.sizeof(RecordWriterOptions),
                                      _choice(Compression, compression, "compression", "COMPRESSION_"))
        super().__init__(_new(_lib.mdist_record_writer_create, os.fsencode(path), options=[byref(options)]))

    def write(self, record: Any) -> None:
        """Adds a record: bytes, or an array, whose memory is written as it is. Error, status IO, on a full disk."""
        seen = _view(record)
        if seen is None:
            raise TypeError(f"{_kind(record)} lies on a GPU; copy it to the host first")
        bytes_ = seen[0].tobytes()
        _call(_lib.mdist_record_writer_write, self._handle, bytes_ or None, len(bytes_))

    def close(self) -> None:
        """Ends the file, flushes it to the disk and gives it its name. Closing again does nothing."""
        _call(_lib.mdist_record_writer_close, self._handle)

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, kind: Any, exception: Any, _: Any) -> None:
        if exception is None:
            self.close()
        self.destroy()
