# SPDX-License-Identifier: Apache-2.0
"""Groups: some replicas of the job, in an order that you choose, with collectives of their own."""
from __future__ import annotations

from ctypes import c_uint32
from typing import TYPE_CHECKING, Sequence

from ._arguments import _count, _handle
from ._held import _Destroyable
from ._library import _lib
from .errors import _new, _or_none

if TYPE_CHECKING:
    from .strategy import Strategy


class Group(_Destroyable):
    """Some replicas of the job: group = mdist.Group(strategy, [1, 0]), and in a step of its members
    replica.all_gather(x, both, group=group). Member i of the list has position i, which is its place in gathers and
    scatters.

    All workers make it, whether or not they have members, with the same list. Error: status INVALID_ARGUMENT if the
    list is empty, or names a replica twice or one that does not exist; MISMATCH if workers passed different lists.
    Keep groups: do not make one per step.
    """

    _destroy = _lib.mdist_group_destroy

    def __init__(self, strategy: Strategy, replicas: Sequence[int]) -> None:
        from .strategy import Strategy as Kind  # which imports this module

        ids = (c_uint32 * len(replicas))(*map(_count, replicas))
        super().__init__(_new(_lib.mdist_group_create, _handle(strategy, Kind), ids, len(ids)))

    def __len__(self) -> int:
        return _lib.mdist_group_size(self._handle)

    def position(self, replica: int) -> int:
        """The position of the replica with this id; -1 if it is not a member."""
        return _or_none(_lib.mdist_group_position(self._handle, _count(replica)))
