# SPDX-License-Identifier: Apache-2.0
"""Input: how a dataset is distributed, what is read from files, and the transforms that choose, join and cut."""
import gzip
import pathlib
import tempfile

import mdist
import numpy as np
from support import WithStrategy, floats, gone, settled, watched


def contents(dataset):
    """All elements, as lists; of more than one array tuples of them."""
    found = [tuple(value.numpy().tolist() for value in element) for element in dataset]
    return [element[0] if len(element) == 1 else element for element in found]


def texts(dataset):
    return [value.numpy().tobytes().decode() for value, in dataset]


def rows(count):
    return mdist.Dataset.from_tensors(np.arange(count, dtype=np.int64))


class Distributed(WithStrategy):
    def parts(self, dataset):
        iterator = iter(dataset)
        return [([value.numpy(i).tolist() for i in range(2)], iterator.row_counts()) for value, in iterator]

    def test_a_batch_is_cut_by_weights(self):
        dataset = self.strategy.distribute_dataset(rows(8).batch(4), weights=[1, 3])
        self.assertEqual(self.parts(dataset), [([[0], [1, 2, 3]], [1, 3]), ([[4], [5, 6, 7]], [1, 3])])

    def test_rows_that_do_not_fit_are_spread_or_dropped(self):
        spread = self.strategy.distribute_dataset(rows(7).batch(4), uneven="spread")
        self.assertEqual(self.parts(spread)[-1], ([[4, 5], [6]], [2, 1]))
        dropped = self.strategy.distribute_dataset(rows(7).batch(4), uneven=mdist.Uneven.UNEVEN_DROP)
        self.assertEqual(self.parts(dropped)[-1], ([[4], [5]], [1, 1]))

    def test_elements_that_are_not_split_go_to_replicas_in_turn(self):
        dataset = self.strategy.distribute_dataset(rows(6).batch(2), split=False)
        self.assertEqual(self.parts(dataset), [([[0, 1], [2, 3]], [2, 2]), ([[4, 5], []], [2, 0])])
        whole = self.strategy.distribute_dataset(rows(6).batch(2), split=False, whole_steps=True)
        self.assertEqual(self.parts(whole), [([[0, 1], [2, 3]], [2, 2])])

    def test_a_function_makes_the_dataset(self):
        seen = []

        def make(pipeline):
            seen.append(pipeline)
            return rows(8).batch(pipeline.batch_size(4))

        dataset = self.strategy.distribute_from_function(make)
        self.assertEqual(seen, [mdist.InputPipeline(pipeline_count=1, pipeline=0, replica_count=2)])
        self.assertEqual(self.parts(dataset), [([[0, 1], [2, 3]], [2, 2]), ([[4, 5], [6, 7]], [2, 2])])
        seen.clear()
        each = self.strategy.distribute_from_function(lambda pipeline: rows(4).shard(2, pipeline.pipeline).batch(1),
                                                      mode="per_replica")
        self.assertEqual([parts for parts, _ in self.parts(each)], [[[0], [1]], [[2], [3]]])

    def test_an_exception_of_the_function_comes_back(self):
        def fail(pipeline):
            raise LookupError("no data")

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.distribute_from_function(fail)
        self.assertEqual(repr(caught.exception.__cause__), "LookupError('no data')")
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.distribute_from_function(lambda pipeline: [1, 2])
        self.assertIn("where a Dataset belongs", str(caught.exception.__cause__))
        self.assert_usable()

    def test_an_exception_of_a_map_in_it_comes_back(self):
        def make(pipeline):
            def fail(inputs, outputs):
                raise LookupError("bad row")

            return rows(4).map(fail, [("float32", ())]).batch(1)

        with self.assertRaises(mdist.Error) as caught:
            next(iter(self.strategy.distribute_from_function(make)))
        self.assertEqual(repr(caught.exception.__cause__), "LookupError('bad row')")

    def test_what_was_decided_is_explained(self):
        text = self.strategy.distribute_dataset(rows(8).batch(4), policy="data").explain()
        self.assertIn("data", text.lower())
        self.assertIn("\n", text)

    def test_a_position_is_saved_and_restored(self):
        dataset = rows(10).shuffle(10, 3)
        iterator = iter(dataset)
        first = [next(iterator)[0].numpy().item() for _ in range(4)]
        text = iterator.save()
        rest = [value.numpy().item() for value, in iterator]
        again = iter(dataset)
        again.restore(text)
        self.assertEqual([value.numpy().item() for value, in again], rest)
        self.assertEqual(sorted(first + rest), list(range(10)))

    def test_a_checkpoint_keeps_a_position(self):
        with tempfile.TemporaryDirectory() as folder:
            iterators = [iter(rows(6)) for _ in range(2)]
            checkpoints = [mdist.Checkpoint(self.strategy, folder) for _ in range(2)]
            for checkpoint, iterator in zip(checkpoints, iterators):
                checkpoint.add_iterator(iterator, "input")
            next(iterators[0])
            checkpoints[0].save(1)
            self.assertEqual(checkpoints[1].restore(), 1)
            self.assertEqual(next(iterators[1])[0].numpy(), 1)
            checkpoints[0].clear()
            self.assertIsNone(mdist.latest_checkpoint(folder))

    def test_mistakes_are_sentences(self):
        batches = rows(4).batch(2)
        for said, options in (('\'fiel\' is no policy; there are "off", "auto", "file", "data", "marked"',
                               {"policy": "fiel"}), ("float is no policy", {"policy": 1.5}),
                              ("'even' is no way with uneven rows", {"uneven": "even"})):
            with self.assertRaisesRegex((TypeError, ValueError), said):
                self.strategy.distribute_dataset(batches, **options)
        with self.assertRaises(mdist.Error):
            self.strategy.distribute_dataset(batches, weights=[1.0])
        with self.assertRaises(mdist.Error) as caught:
            iter(batches).row_counts()
        self.assertEqual(caught.exception.status, mdist.Status.FAILED_PRECONDITION)


class Sources(WithStrategy):
    def setUp(self):
        super().setUp()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_a_range_counts_as_pythons(self):
        for arguments in ((4,), (2, 5), (5, -2, -3)):
            self.assertEqual(contents(mdist.Dataset.range(*arguments)), list(range(*arguments)))
        with self.assertRaises(ValueError):
            mdist.Dataset.range(2**63)

    def test_a_generator_begins_anew_in_every_epoch(self):
        begun = []

        def pairs():
            begun.append(True)
            for i in range(3):
                yield floats(i, i + 1), i

        outputs = [("float32", (2,)), ("int64", ())]
        dataset = mdist.Dataset.from_generator(pairs, outputs)
        expected = [([i, i + 1.0], i) for i in range(3)]
        self.assertEqual(contents(dataset), expected)
        self.assertEqual(contents(dataset.repeat(2)), expected * 2)
        self.assertEqual(len(begun), 3)
        with self.assertRaises(mdist.Error) as caught:
            next(iter(dataset.prefetch(1)))
        self.assertEqual(caught.exception.reason, "callers_thread")
        anywhere = mdist.Dataset.from_generator(pairs, outputs, any_thread=True)
        self.assertEqual(contents(anywhere.prefetch(2)), expected)

    def test_a_generator_is_closed_and_let_go(self):
        closed = []

        def endless():
            try:
                while True:
                    yield 1
            finally:
                closed.append(True)

        function, reference = watched(endless)
        dataset = mdist.Dataset.from_generator(function, [("int64", ())])
        iterator = iter(dataset)
        next(iterator)
        iterator.destroy()
        self.assertEqual(closed, [True])
        del dataset, iterator, function, endless
        self.assertEqual(settled(), {})
        self.assertTrue(gone(reference))

    def test_what_a_generator_does_wrong_is_told(self):
        def failing():
            yield 1
            raise LookupError("no more")

        iterator = iter(mdist.Dataset.from_generator(failing, [("int64", ())]))
        next(iterator)
        with self.assertRaises(mdist.Error) as caught:
            next(iterator)
        self.assertEqual(repr(caught.exception.__cause__), "LookupError('no more')")
        for given, said in ((floats(1, 2), "float32 of shape .2,. for output 0, which is float32 and has shape .3,."),
                            ((floats(1, 2, 3), 1), "gave 2 arrays; its dataset has 1 outputs"),
                            (np.zeros(3), None), (["a"], "for output 0")):
            dataset = mdist.Dataset.from_generator(lambda: iter([given]), [("float32", (3,))])
            if said is None:
                self.assertEqual(contents(dataset), [[0, 0, 0]])  # float64 goes into float32
                continue
            with self.assertRaises(mdist.Error) as caught:
                next(iter(dataset))
            self.assertRegex(str(caught.exception.__cause__), said)

    def test_lines_of_files_that_match_a_pattern(self):
        for index, text in enumerate(("a\nbc\r\n", "d")):
            (self.folder / f"part-{index}.txt").write_bytes(text.encode())
        files = mdist.Dataset.match_files(self.folder / "part-?.txt")
        self.assertEqual(texts(files), [str(self.folder / f"part-{i}.txt") for i in range(2)])
        self.assertEqual(texts(files.text_lines()), ["a", "bc", "d"])
        self.assertEqual(texts(files.text_lines(cycle_length=2, parallel_files=2)), ["a", "d", "bc"])
        with self.assertRaises(mdist.Error) as caught:
            mdist.Dataset.match_files([self.folder / "none-*"])
        self.assertEqual(caught.exception.status, mdist.Status.NOT_FOUND)
        with self.assertRaises(mdist.Error) as caught:
            next(iter(mdist.Dataset.files([self.folder / "gone"]).text_lines()))
        self.assertIn("gone", str(caught.exception))

    def test_fixed_records_lie_between_header_and_footer(self):
        (self.folder / "records").write_bytes(b"HH" + b"abcdef" + b"F")
        files = mdist.Dataset.files([self.folder / "records"])
        self.assertEqual(texts(files.fixed_records(3, header_bytes=2, footer_bytes=1)), ["abc", "def"])

    def test_records_are_written_and_read_back(self):
        for compression in "none", "gzip", "zlib":
            path = self.folder / compression
            with mdist.RecordWriter(path, compression) as writer:
                for record in b"one", b"", np.arange(3, dtype=np.uint8):
                    writer.write(record)
                self.assertFalse(path.exists())
            found = contents(mdist.Dataset.files([path]).tfrecords(compression=compression))
            self.assertEqual(found, [[*b"one"], [], [0, 1, 2]])
        self.assertEqual(gzip.open(self.folder / "gzip").read(8), (3).to_bytes(8, "little"))
        with self.assertRaises(LookupError), mdist.RecordWriter(self.folder / "unfinished") as writer:
            writer.write(b"x")
            raise LookupError
        self.assertEqual(sorted(one.name for one in self.folder.iterdir()), ["gzip", "none", "zlib"])

    def test_corrupt_records_fail_or_are_skipped_and_counted(self):
        path = self.folder / "records"
        with mdist.RecordWriter(path) as writer:
            for record in b"first", b"second":
                writer.write(record)
        data = bytearray(path.read_bytes())
        data[12] ^= 1  # in the first record
        path.write_bytes(data)
        files = mdist.Dataset.files([path])
        with self.assertRaises(mdist.Error) as caught:
            next(iter(files.tfrecords()))
        self.assertEqual((caught.exception.status, caught.exception.reason), (mdist.Status.DATA_LOSS, "corrupt"))
        iterator = iter(files.tfrecords(on_corrupt="skip"))
        self.assertEqual([value.numpy().tobytes() for value, in iterator], [b"second"])
        self.assertEqual(iterator.skipped(), 1)
        with self.assertRaisesRegex(ValueError, "'lz4' is no compression"):
            files.tfrecords(compression="lz4")


class Transforms(WithStrategy):
    def test_choosing(self):
        self.assertEqual(contents(rows(5).take(2)), [0, 1])
        self.assertEqual(contents(rows(5).skip(3)), [3, 4])
        self.assertEqual(contents(rows(6).filter(lambda x: x % 2 == 1)), [1, 3, 5])
        self.assertEqual(contents(rows(6).filter(lambda x: x > 9)), [])

    def test_joining(self):
        self.assertEqual(contents(rows(2).concatenate(rows(1))), [0, 1, 0])
        self.assertEqual(contents(rows(3).zip(rows(9).skip(5), rows(2))), [(0, 5, 0), (1, 6, 1)])
        with self.assertRaises(mdist.Error) as caught:
            rows(2).concatenate(mdist.Dataset.from_tensors(floats(1)))
        self.assertEqual(caught.exception.status, mdist.Status.MISMATCH)
        with self.assertRaisesRegex(TypeError, "where a Dataset belongs"):
            rows(2).zip([1, 2])

    def test_cutting(self):
        self.assertEqual(contents(rows(5).batch(4).unbatch()), list(range(5)))
        self.assertEqual(contents(rows(6).batch(4).rebatch([1, 2])), [[0], [1, 2], [3], [4, 5]])
        self.assertEqual(contents(rows(5).batch(4).rebatch(2, drop_remainder=True)), [[0, 1], [2, 3]])

    def test_padding(self):
        def lengths():
            for i in range(1, 4):
                yield np.full(3, i, np.int64)

        ragged = mdist.Dataset.from_generator(lengths, [("int64", (3,))]).rebatch([2, 7])
        self.assertEqual(contents(ragged.padded_batch(2)), [[[1, 1, 0, 0, 0, 0, 0], [1, 2, 2, 2, 3, 3, 3]]])
        padded = ragged.padded_batch(2, paddings=[(np.int64(-1), [None])])
        self.assertEqual(contents(padded)[0][0], [1, 1, -1, -1, -1, -1, -1])
        with self.assertRaises(mdist.Error) as caught:
            contents(ragged.padded_batch(2, paddings=[(np.int64(0), [5])]))
        self.assertEqual(caught.exception.status, mdist.Status.MISMATCH)

    def test_a_cache_asks_once(self):
        asked = []

        def note(inputs, outputs):
            asked.append(int(inputs[0]))
            outputs[0][...] = inputs[0]

        dataset = rows(3).map(note, [("int64", ())]).cache()
        self.assertEqual([contents(dataset) for _ in range(3)], [[0, 1, 2]] * 3)
        self.assertEqual(asked, [0, 1, 2])

    def test_maps_in_parallel_keep_the_order(self):
        def double(inputs, outputs):
            outputs[0][...] = inputs[0] * 2

        for unordered in False, True:
            dataset = rows(50).map(double, [("int64", ())], parallel_calls=3, unordered=unordered)
            found = contents(dataset)
            self.assertEqual(sorted(found) if unordered else found, list(range(0, 100, 2)))

    def test_a_filter_that_fails_or_keeps_an_array_is_told(self):
        kept = []
        for function, said in ((lambda x: 1 / 0, "division"), (kept.append, "filter function kept an array")):
            with self.assertRaises(mdist.Error) as caught:
                next(iter(rows(2).zip(rows(2).filter(function))))
            self.assertIn(said, str(caught.exception.__cause__))
