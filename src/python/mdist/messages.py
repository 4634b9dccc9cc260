# SPDX-License-Identifier: Apache-2.0
"""Messages: one replica sends an array to another."""
from __future__ import annotations

from typing import Any

from ._arguments import _count, _options
from ._library import _lib
from ._operands import _Operands
from .errors import _call, _new
from .typing import ArrayLike
from .work import Work


class Messages:
    """The messages of a Replica. A receive takes the message of its sender and tag, a whole number; equal ones in the
    order in which they were sent. Both sides pass the same dtype and number of elements: else Error, status MISMATCH.
    Messages have no place in the order of the collectives. All are received in the run in which they were sent."""

    _handle: Any

    def send(self, to: int, tag: int, array: ArrayLike, timeout: float | None = None) -> None:
        """Sends an array to replica `to`. More than 4096 bytes wait for their receiver: so if two replicas send to each
        other, one of the sides is to be started."""
        given = _Operands([array], False, True)
        _call(_lib.mdist_send, self._handle, _count(to), _count(tag), given.buffers, _options(timeout))

    def send_start(self, to: int, tag: int, array: ArrayLike, timeout: float | None = None) -> Work:
        """send, started: the array belongs to the Work until it is done."""
        given = _Operands([array], False, False)
        return Work(_new(_lib.mdist_send_start, self._handle, _count(to), _count(tag), given.buffers,
                         options=[_options(timeout)]), given.views)

    def receive(self, sender: int, tag: int, array: ArrayLike, timeout: float | None = None) -> Any:
        """Receives into an array what replica `sender` sends, and returns the array. Error, status TIMEOUT, says who
        waits for whom."""
        taken = _Operands([array], True, True)
        _call(_lib.mdist_receive, self._handle, _count(sender), _count(tag), taken.buffers, _options(timeout))
        return taken.results()[0]

    def receive_start(self, sender: int, tag: int, array: ArrayLike, timeout: float | None = None) -> Work:
        """receive, started: the array belongs to the Work until it is done."""
        taken = _Operands([array], True, False)
        return Work(_new(_lib.mdist_receive_start, self._handle, _count(sender), _count(tag), taken.buffers,
                         options=[_options(timeout)]), taken.views)
