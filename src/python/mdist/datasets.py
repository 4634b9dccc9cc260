# SPDX-License-Identifier: Apache-2.0
"""Datasets: where elements come from, and what is done to them."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_uint64
from typing import Any, Callable, Sequence

from ._abi import (Compression, DATASET_ANY_THREAD, DATASET_DROP_REMAINDER, DATASET_SAME_ORDER, DATASET_UNORDERED,
                   DatasetOptions, Dtype, FOREVER, OnCorrupt, ReadOptions, Tensor, UNKNOWN_LENGTH)
from ._arguments import _choice, _count, _handles, _whole
from ._held import _FREE, _Held, _keep
from ._library import _lib
from ._mappings import _FILTER, _FREE_STATE, _Filter, _GENERATE, _Generator, _MAP, _Mapping
from ._tensors import _described, _tensor, _tensors
from .errors import _kind, _new, _text
from .iterators import Iterator, _iterators
from .typing import ArrayLike, DtypeLike

Outputs = Sequence["tuple[DtypeLike, Sequence[int]]"]


class Dataset(_Held):
    """A description of elements, tuples of arrays; each method gives a new one. Iterating gives tuples of Values.

    Sources: from_tensors, range, from_generator, and files or match_files, whose names text_lines, fixed_records or
    tfrecords read.
    """

    _destroy = _lib.mdist_dataset_destroy
    _replicas = 0  # of the job, if it is distributed
    _maps: list[Any]

    # ---- Sources

    @classmethod
    def from_tensors(cls, *arrays: Any) -> Dataset:
        """Element i is row i of each array. The arrays are kept, not copied, and must not change meanwhile."""
        tensors, views = _tensors(arrays)
        return cls._source(_lib.mdist_dataset_from_tensors, tensors, len(views), _keep(views), _FREE)

    @classmethod
    def range(cls, start: int, stop: int | None = None, step: int = 1) -> Dataset:
        """int64 scalars, as Python's range counts: range(stop), range(start, stop, step)."""
        start, stop = (0, start) if stop is None else (start, stop)
        return cls._source(_lib.mdist_dataset_range, *map(_whole, (start, stop, step)))

    @classmethod
    def from_generator(cls, function: Callable[[], Any], outputs: Outputs, any_thread: bool = False) -> Dataset:
        """Calls function() for each iteration and epoch: a generator, or anything to iterate over. Each element is an
        array, or a tuple of arrays and numbers, which are copied.

        `outputs` says (dtype, shape) of each array of an element. Another shape ends the iteration with an Error. It
        runs on the thread that iterates. With `any_thread` it may run on threads of the library, so prefetch may
        follow; without, prefetch raises Error, reason `callers_thread`.
        """
        generator, described = _Generator(function), _outputs(outputs)
        return cls._source(_lib.mdist_dataset_from_generator, _GENERATE, _keep(generator), _FREE, _FREE_STATE,
                           described, len(outputs), options=_chosen(DATASET_ANY_THREAD, any_thread), maps=[generator])

    @classmethod
    def files(cls, paths: Sequence[str | os.PathLike[str]]) -> Dataset:
        """The names of files, in this order. Whether they exist shows when they are read."""
        return cls._source(_lib.mdist_dataset_files, *_paths(paths))

    @classmethod
    def match_files(cls, patterns: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Dataset:
        """The sorted names of all files that match a pattern, or one of several: `*`, `?` and `[a-z]`, as in a shell.
        Error, status NOT_FOUND, if nothing matches."""
        return cls._source(_lib.mdist_dataset_match_files,
                           *_paths([patterns] if isinstance(patterns, (str, os.PathLike)) else patterns))

    def text_lines(self, **reading: Any) -> Dataset:
        """The lines of the files that this dataset names: uint8 arrays of shape (length,), without line ends.

        Keywords for all three kinds of files:
        - `compression`: "none", "gzip" or "zlib".
        - `on_corrupt`: "fail", or "skip", which leaves corrupt records out. Iterator.skipped counts them.
        - `cycle_length`: how many files are open at a time and take turns. `block_length`: how many records a file
          gives in its turn.
        - `max_record_bytes`: a longer record is corrupt; 0: 1 GiB.
        - `parallel_files`: how many of the open files are read ahead at a time, on threads of the iterator.
        """
        return self._derive(_lib.mdist_dataset_text_lines, self._handle, options=[_reading(**reading)])

    def fixed_records(self, record_bytes: int, header_bytes: int = 0, footer_bytes: int = 0, **reading: Any) -> Dataset:
        """Records of `record_bytes` each, between a header and a footer of each file: uint8 arrays of shape
        (record_bytes,). Keywords: see text_lines."""
        return self._derive(_lib.mdist_dataset_fixed_records, self._handle, _count(record_bytes), _count(header_bytes),
                            _count(footer_bytes), options=[_reading(**reading)])

    def tfrecords(self, **reading: Any) -> Dataset:
        """The records of TFRecord files, whose checksums are verified: uint8 arrays of shape (length,). Keywords: see
        text_lines."""
        return self._derive(_lib.mdist_dataset_tfrecords, self._handle, options=[_reading(**reading)])

    # ---- Transforms

    def shard(self, shards: int, index: int) -> Dataset:
        """Every shards-th element, beginning with number `index`. mdist.ONE_PER_WORKER as `shards`: one shard for each
        worker; see Strategy.distribute_dataset."""
        return self._derive(_lib.mdist_dataset_shard, self._handle, _count(shards), _count(index))

    def shuffle(self, buffer_size: int, seed: int, reshuffle_each_iteration: bool = True) -> Dataset:
        """The elements in random order: each is drawn from the next `buffer_size`. The order depends on `seed` alone,
        and changes with each epoch if `reshuffle_each_iteration`."""
        return self._derive(_lib.mdist_dataset_shuffle, self._handle, _count(buffer_size), _count(seed),
                            options=_chosen(DATASET_SAME_ORDER, not reshuffle_each_iteration))

    def repeat(self, count: int = FOREVER) -> Dataset:
        """The elements `count` times, without an end if it is left out."""
        return self._derive(_lib.mdist_dataset_repeat, self._handle, _count(count))

    def take(self, count: int) -> Dataset:
        """The first `count` elements, or all if there are fewer."""
        return self._derive(_lib.mdist_dataset_take, self._handle, _count(count))

    def skip(self, count: int) -> Dataset:
        """All but the first `count` elements."""
        return self._derive(_lib.mdist_dataset_skip, self._handle, _count(count))

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Stacks `batch_size` elements into one, with a new first dimension. The last batch may be smaller, or is left
        out with `drop_remainder`. Elements must have equal shapes, else iterating raises Error."""
        return self._derive(_lib.mdist_dataset_batch, self._handle, _count(batch_size),
                            options=_chosen(DATASET_DROP_REMAINDER, drop_remainder))

    def padded_batch(self, batch_size: int, drop_remainder: bool = False,
                     paddings: Sequence[tuple[ArrayLike, Sequence[int | None]]] | None = None) -> Dataset:
        """batch of elements of different shapes: pads every dimension at its end.

        `paddings` has (value, shape) for each array of an element. The value has the array's dtype, as
        numpy.float32(-1). The shape gives the size of each dimension; None means the longest of the batch. Without
        `paddings`: zeros, up to the longest. Iterating raises Error, status MISMATCH, if an element is larger.
        """
        described, views = None, []
        if paddings is not None:
            described = (Tensor * len(paddings))()
            for index, (value, shape) in enumerate(paddings):
                tensor, view = _tensor(value)
                views.append(view)
                described[index] = _described(Dtype(tensor.dtype), [UNKNOWN_LENGTH if one is None else one for one in shape])
                described[index].data = tensor.data
        made = self._derive(_lib.mdist_dataset_padded_batch, self._handle, _count(batch_size), described, len(views),
                            options=_chosen(DATASET_DROP_REMAINDER, drop_remainder))
        del views
        return made

    def unbatch(self) -> Dataset:
        """Each row of each element as an element of its own. Iterating raises Error, status MISMATCH, if the arrays of
        an element have different numbers of rows."""
        return self._derive(_lib.mdist_dataset_unbatch, self._handle)

    def rebatch(self, batch_sizes: int | Sequence[int], drop_remainder: bool = False) -> Dataset:
        """Cuts the rows of all elements, taken as one sequence, into new batches of these sizes, again and again in
        this order."""
        sizes = [batch_sizes] if isinstance(batch_sizes, int) else batch_sizes
        numbers = (c_uint64 * len(sizes))(*map(_count, sizes))
        return self._derive(_lib.mdist_dataset_rebatch, self._handle, numbers, len(sizes),
                            options=_chosen(DATASET_DROP_REMAINDER, drop_remainder))

    def prefetch(self, elements: int) -> Dataset:
        """Makes up to that many elements ahead, on a thread of the iterator."""
        return self._derive(_lib.mdist_dataset_prefetch, self._handle, _count(elements))

    def cache(self) -> Dataset:
        """Keeps the elements of the first iteration that reaches its end in memory, for later ones."""
        return self._derive(_lib.mdist_dataset_cache, self._handle)

    def map(self, function: Callable[..., Any], outputs: Outputs, parallel_calls: int = 0,
            unordered: bool = False) -> Dataset:
        """Calls function(inputs, outputs), two lists of arrays, of which it fills the second in place.

        `outputs` says (dtype, shape) of each; a first dimension of mdist.UNKNOWN_LENGTH is that of the first input. The arrays
        are those of the call: keeping one fails the iteration. A prefetch behind it calls it on another thread, and
        `parallel_calls` on that many; `unordered` then gives elements as they are done.
        """
        mapping, described = _Mapping(function), _outputs(outputs)
        options = _chosen(DATASET_UNORDERED, unordered, _count(parallel_calls))
        return self._derive(_lib.mdist_dataset_map, self._handle, _MAP, _keep(mapping), _FREE, described, len(outputs),
                            options=options, maps=[mapping])

    def filter(self, function: Callable[..., Any]) -> Dataset:
        """The elements for which function(*arrays) is true. The arrays are those of the call, as in map."""
        mapping = _Filter(function)
        return self._derive(_lib.mdist_dataset_filter, self._handle, _FILTER, _keep(mapping), _FREE, maps=[mapping])

    def concatenate(self, other: Dataset) -> Dataset:
        """These elements, then those of another dataset. Error, status MISMATCH, if they differ in number, dtype or
        rank of their arrays."""
        return self._joined(_lib.mdist_dataset_concatenate, self._handle, _dataset(other)._handle, others=[other])

    def zip(self, *others: Dataset) -> Dataset:
        """Element i has the arrays of element i of each dataset, in this order. It ends with the shortest."""
        handles = _handles([self, *map(_dataset, others)])
        return self._joined(_lib.mdist_dataset_zip, handles, len(handles), others=others)

    # ---- What it is

    @property
    def component_count(self) -> int:
        """How many arrays an element has."""
        return _lib.mdist_dataset_component_count(self._handle)

    def explain(self) -> str:
        """How it is made, in lines for people. For a distributed dataset also which policy was taken and why, and who
        reads what."""
        return _text(_lib.mdist_dataset_explain, self._handle)

    def __iter__(self) -> Iterator:
        iterator = Iterator._of(_new(_lib.mdist_iterator_create, self._handle), _maps=self._maps,
                                _count=self.component_count, _replicas=self._replicas)
        _iterators.add(iterator)
        return iterator

    # ---- How others are made

    @classmethod
    def _source(cls, function, *arguments, options=(None,), maps=()):
        return cls._of(_new(function, *arguments, options=options), _maps=[*maps])

    def _derive(self, function, *arguments, options=(None,), maps=()):
        return Dataset._of(_new(function, *arguments, options=options), _maps=[*self._maps, *maps])

    def _joined(self, function, *arguments, others):
        made = self._derive(function, *arguments)
        for other in others:
            made._maps += other._maps
        return made


def _dataset(thing):
    if not isinstance(thing, Dataset):
        raise TypeError(f"{_kind(thing)} {thing!r:.60}, where a Dataset belongs")
    return thing


def _outputs(outputs):
    return (Tensor * len(outputs))(*(_described(*one) for one in outputs))


def _paths(paths):
    names = [os.fsencode(path) for path in paths]
    return (c_char_p * len(names))(*names), len(names)


def _chosen(flag, chosen, parallel_calls=0):
    return [byref(DatasetOptions(ctypes.sizeof(DatasetOptions), flag if chosen else 0, parallel_calls))]


def _reading(compression="none", on_corrupt="fail", cycle_length=0, block_length=0, max_record_bytes=0,
             parallel_files=0):
    return byref(ReadOptions(
        ctypes.sizeof(ReadOptions), 0, _choice(Compression, compression, "compression", "COMPRESSION_"),
        _choice(OnCorrupt, on_corrupt, "way with corrupt records", "ON_CORRUPT_"), _count(cycle_length),
        _count(block_length), _count(max_record_bytes), _count(parallel_files)))
