# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: files that others read, too; what is restored by how many replicas; leaving; scopes."""
import json
import pathlib
import struct
import tempfile
import threading

import mdist
import numpy as np
from support import SUM, WithStrategy, floats


def safetensors(path):
    """Metadata and arrays of a file: a length, JSON of that length, and the elements one after another."""
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    types = {"F32": np.float32, "I64": np.int64}
    texts = header.pop("__metadata__")
    return texts, {name: np.frombuffer(data[slice(*one["data_offsets"])], types[one["dtype"]]).reshape(one["shape"])
                   for name, one in header.items()}


class Checkpoints(WithStrategy):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "checkpoints"

    def saved(self):
        weights = self.strategy.variable("weights", np.arange(6, dtype=np.float32).reshape(2, 3))
        seen = self.strategy.variable("seen", np.array(0, np.int64), mdist.Synchronization.ON_READ,
                                      mdist.Aggregation.SUM)
        self.strategy.run(lambda replica: replica.assign(seen, np.array(replica.id + 4)))
        checkpoint = mdist.Checkpoint(self.strategy, self.folder, {"model/w": weights, "seen": seen}, keep=2)
        self.assertTrue(checkpoint, "one without texts, too")
        checkpoint["epoch"] = 7
        checkpoint.save(3)
        return checkpoint, weights

    def test_the_file_is_safetensors(self):
        self.saved()
        texts, arrays = safetensors(self.folder / "checkpoint-3.safetensors")
        self.assertEqual(texts["epoch"], "7")
        self.assertEqual({name: one.tolist() for name, one in arrays.items()},
                         {"model/w": [[0, 1, 2], [3, 4, 5]], "seen": 9})

    def test_any_number_of_replicas_restores(self):
        self.saved()
        for replicas in 1, 2, 3:
            with mdist.Strategy(devices=f"cpu*{replicas}") as strategy:
                weights = strategy.variable("w", ("float32", (2, 3)))
                checkpoint = mdist.Checkpoint(strategy, self.folder)
                checkpoint.add(weights, "model/w")
                with self.assertRaises(mdist.Error) as caught:
                    checkpoint.restore()
                self.assertEqual(caught.exception.reason, "different_variables")
                self.assertEqual(checkpoint.restore(partial=True, timeout=60), 3)
                self.assertEqual(weights.numpy(replicas - 1).tolist(), [[0, 1, 2], [3, 4, 5]])
                self.assertEqual((checkpoint["epoch"], checkpoint.get("step", "none")), ("7", "none"))
                self.assertEqual((dict(checkpoint), list(checkpoint), "step" in checkpoint, len(checkpoint)),
                                 ({"epoch": "7"}, ["epoch"], False, 1))
                with self.assertRaises(KeyError):
                    checkpoint["step"]

    def test_a_file_that_another_program_wrote_is_restored(self):
        weights = floats(5, 6, 7)
        header = json.dumps({"__metadata__": {"author": "somebody"},
                             "w": {"dtype": "F32", "shape": [3], "data_offsets": [0, weights.nbytes]}}).encode()
        self.folder.mkdir()
        (self.folder / "checkpoint-12.safetensors").write_bytes(
            struct.pack("<Q", len(header)) + header + weights.tobytes())
        variable = self.strategy.variable("w", floats(0, 0, 0))
        checkpoint = mdist.Checkpoint(self.strategy, self.folder, [variable])
        self.assertEqual((checkpoint.restore(), checkpoint.restore(12)), (12, 12))  # the latest, though no list names it
        self.assertEqual((variable.numpy(1).tolist(), checkpoint["author"]), ([5, 6, 7], "somebody"))

    def test_the_latest_and_those_that_are_kept(self):
        self.assertIsNone(mdist.latest_checkpoint(self.folder))
        self.assertIsNone(mdist.Checkpoint(self.strategy, self.folder).restore())
        checkpoint, weights = self.saved()
        for number in 4, 5:
            weights.assign(np.full((2, 3), number, np.float32))
            checkpoint.save(number, timeout=60)
        self.assertEqual((mdist.latest_checkpoint(self.folder), checkpoint.restore(4)), (5, 4))
        self.assertEqual(weights.numpy(1)[0, 0], 4)
        with self.assertRaises(mdist.Error) as caught:
            checkpoint.restore(3)
        self.assertEqual(caught.exception.status, mdist.Status.NOT_FOUND)

    def test_damage_is_told(self):
        checkpoint, weights = self.saved()
        path = self.folder / "checkpoint-3.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\x77")
        weights.assign(np.full((2, 3), 9, np.float32))
        with self.assertRaises(mdist.Error) as caught:
            checkpoint.restore()
        self.assertEqual((caught.exception.status, weights.numpy(0)[0, 0]), (mdist.Status.DATA_LOSS, 9))
        self.assert_usable()

    def test_it_keeps_its_variables(self):
        checkpoint, weights = self.saved()
        del weights
        checkpoint.save(8)
        checkpoint.destroy()
        with self.assertRaises(mdist.Error) as caught:
            checkpoint.save(9)
        self.assertEqual(caught.exception.status, mdist.Status.BAD_HANDLE)


class Leaving(WithStrategy):
    def test_an_announcement_ends_the_program_at_the_next_check(self):
        self.assertEqual(self.strategy.check_membership(), (mdist.Verdict.GO_ON, -1))
        threading.Thread(target=self.strategy.leave).run()
        self.assertEqual(self.strategy.check_membership(timeout=60), (mdist.Verdict.END, 0))

    def test_with_grace_it_is_saved_first(self):
        self.strategy.leave(grace=3600)
        self.assertEqual([self.strategy.check_membership()[0].name for _ in range(2)], ["SAVE", "GO_ON"])

    def test_health(self):
        self.strategy.check_health()
        self.strategy.abort()
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.check_health()
        self.assertEqual(caught.exception.status, mdist.Status.ABORTED)


class Scopes(WithStrategy):
    def test_steps_and_merges_know_where_they_are(self):
        def merge(strategy):
            seen.append((mdist.current_strategy(), mdist.current_replica()))

        def step(replica):
            assert mdist.current_strategy() is self.strategy and mdist.current_replica() is replica
            replica.merge_call(merge)

        seen = []
        self.strategy.run(step)
        self.strategy.map(5, lambda replica, element: self.assertIs(mdist.current_replica(), replica))
        self.assertEqual(seen, [(self.strategy, None)])

    def test_scopes(self):
        with self.strategy.scope() as entered:
            self.assertIs(entered, self.strategy)
            self.assertIs(mdist.current_strategy(), self.strategy)
            self.assertIsNone(mdist.current_replica())
            with mdist.Strategy(devices="cpu*3") as other, self.assertRaises(mdist.Error) as caught:
                with other.scope():
                    self.fail("entered")
            self.assertEqual(caught.exception.reason, "other_strategy")
            with self.assertRaises(LookupError), self.strategy.scope():
                raise LookupError
        self.assertEqual(mdist.current_strategy().replica_count, 1)

    def test_the_default_strategy(self):
        x = floats(2)
        mdist.current_replica().all_reduce(SUM, x)
        self.assertEqual((x.tolist(), mdist.current_replica().count), ([2], 1))
        self.addCleanup(mdist.set_default_strategy)
        mdist.set_default_strategy(self.strategy)
        self.assertIs(mdist.current_strategy(), self.strategy)
        mdist.set_default_strategy()
        self.assertEqual(mdist.current_strategy().replica_count, 1)
