# SPDX-License-Identifier: Apache-2.0
"""Dicts and lists of arrays as values, arguments and results; values from functions, fetches, maps and updates."""
import gc
import threading

import mdist
import numpy as np
from support import SUM, WithStrategy, address, floats, gone, settled, watched

Kind = mdist.ValueKind


def listed(tree):
    """A tree of arrays as one of lists."""
    if isinstance(tree, dict):
        return {name: listed(part) for name, part in tree.items()}
    return [listed(part) for part in tree] if isinstance(tree, list) else tree.tolist()


class Structures(WithStrategy):
    def test_what_goes_in_comes_out(self):
        tree = {"b": [floats(1), {"c": floats(2, 3)}], "a": (floats(4),), "ten": [floats(i) for i in range(11)]}
        value = mdist.Value(tree)
        self.assertEqual((value.kind, len(value)), (Kind.STRUCTURE, 0))
        self.assertEqual(value.paths[:4], ["a.0", "b.0", "b.1.c", "ten.0"])
        expected = {"a": [[4]], "b": [[1], {"c": [2, 3]}], "ten": [[i] for i in range(11)]}
        self.assertEqual(listed(value.numpy()), expected)
        self.assertEqual(value.memory()["b"][1]["c"].tolist(), [2, 3])
        self.assertEqual((value["b.1.c"].kind, listed(value["b"].numpy())), (Kind.PLAIN, [[1], {"c": [2, 3]}]))
        self.assertEqual((mdist.Value({}).numpy(), mdist.Value(floats(1)).paths), ({}, [""]))
        self.assertEqual(listed(mdist.Value({"x": [], "y": floats(1)}).numpy()), {"y": [1]})
        self.assertEqual(listed(mdist.Value([value["b.0"], value["b"]]).numpy()), [[1], [[1], {"c": [2, 3]}]])

    def test_leaves_share_memory_and_stay(self):
        array, reference = watched(floats(1, 2))
        value = mdist.Value.wrap({"x": array})
        leaf = value["x"]
        self.assertEqual(address(leaf.numpy()), address(array))
        view = leaf.numpy()
        del value, leaf, array
        self.assertFalse(gone(reference))
        self.assertEqual(view.tolist(), [1, 2])
        del view
        self.assertTrue(gone(reference))

    def test_names_that_are_no_names_and_leaves_that_are_not_there(self):
        for name in "a.b", "", "3", 3:
            with self.assertRaisesRegex(ValueError, "names are texts without dots"):
                mdist.Value({name: floats(1)})
        with self.assertRaisesRegex(KeyError, "x"):
            mdist.Value({"x": floats(1)})["y"]
        with self.assertRaisesRegex(TypeError, "paths are texts"):
            mdist.Value({"x": floats(1)})[0]
        with self.assertRaisesRegex(ValueError, "leaves x, where the first replica has x, y"):
            self.strategy.per_replica({"x": floats(1), "y": floats(1)}, {"x": floats(1)})

    def test_steps_take_and_give_them(self):
        batch = self.strategy.per_replica({"x": floats(1, 2), "y": [floats(3)]}, {"x": floats(4), "y": [floats(5)]})
        kept = []

        def step(replica, batch, scale):
            kept.append(batch)
            return {"loss": batch["x"].sum(keepdims=True), "grads": [batch["y"][0] * scale, None][:1]}

        result = self.strategy.run(step, batch, floats(10), results=1)
        self.assertEqual((result.paths, result["loss"].kind), (["grads.0", "loss"], Kind.PER_REPLICA))
        self.assertEqual([listed(result.numpy(i)) for i in range(2)],
                         [{"loss": [3], "grads": [[30]]}, {"loss": [4], "grads": [[50]]}])
        total = self.strategy.reduce(SUM, result)
        self.assertEqual(listed(total.numpy()), {"loss": [7], "grads": [[80]]})
        self.assertEqual(listed(self.strategy.gather(result).numpy()), {"loss": [3, 4], "grads": [[30, 50]]})
        del batch, result
        gc.collect()
        self.assertEqual(sorted(one["x"].tolist() for one in kept), [[1, 2], [4]])

    def test_steps_that_give_different_ones(self):
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: {"ab"[replica.id]: floats(1)}, results=1)
        self.assertEqual(caught.exception.status, mdist.Status.MISMATCH)
        self.assert_usable()

    def test_merges_take_and_give_them(self):
        def merge(strategy, first, second):
            self.assertEqual((first.paths, second.kind), (["n", "x.0", "x.1"], Kind.PER_REPLICA))
            return {"sum": strategy.reduce(SUM, first["x.1"]), "all": [first["n"]]}, None, second, floats(9)

        def step(replica):
            given = {"x": [floats(1), floats(replica.id, 5)], "n": np.array(replica.id)}
            got = replica.merge_call(merge, given, [1, replica.id], results=4)
            again = replica.merge_call(lambda strategy: {"z": floats(3)}, results=1)
            parts[replica.id] = listed(got[0]), got[1], listed(got[2]), listed(got[3]), listed(again)

        parts = [None, None]
        self.strategy.run(step)
        self.assertEqual(parts, [({"sum": [1, 10], "all": [i]}, None, [1, i], [9], {"z": [3]}) for i in range(2)])

    def test_merges_between_two_calls_take_and_give_them(self):
        run = self.strategy.run_begin()

        def on_thread(local):
            with run.enter(local) as replica:
                value, = replica.merge_begin({"x": floats(local)})
                if local == 0:
                    parts[local] = replica.merge_end({"y": [self.strategy.reduce(SUM, value["x"])]})
                else:
                    parts[local] = replica.merge_end(results=1)

        parts = [None, None]
        threads = [threading.Thread(target=on_thread, args=(local,)) for local in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run.end()
        self.assertEqual([listed(part) for part in parts], [{"y": [[1]]}] * 2)

    def test_batches_of_reductions(self):
        values = [self.strategy.per_replica(floats(i), floats(i + 1)) for i in range(3)]
        structure = mdist.Value({"x": values[0], "y": [values[1]]})
        reduced = self.strategy.batch_reduce_to(SUM, [structure, *values])
        self.assertEqual(listed(reduced[0].numpy(1)), {"x": [1], "y": [[3]]})
        self.assertEqual([one.numpy(0).tolist() for one in reduced[1:]], [[1], [3], [5]])
        with self.assertRaisesRegex(ValueError, "3 values and 1 destinations"):
            self.strategy.batch_reduce_to(SUM, values, [""])


class ByFunctions(WithStrategy):
    replicas = 3

    def test_values_from_a_function(self):
        value = self.strategy.values_from_function(lambda id, count: {"id": floats(id), "of": [floats(count)]})
        self.assertEqual([listed(value.numpy(i)) for i in range(3)], [{"id": [i], "of": [[3]]} for i in range(3)])
        given = mdist.Value(floats(7))
        value = self.strategy.values_from_function(lambda id, count: given)
        self.assertEqual((value.numpy(2).tolist(), given.numpy().tolist()), ([7], [7]))

    def test_a_map_computes_elements_on_all_replicas(self):
        def square(replica, element, table):
            return table[element:element + 1] ** 2, {"id": np.array(replica.id)}

        squares, ids = self.strategy.map(7, square, np.arange(7, dtype=np.float32), results=2)
        self.assertEqual(squares.numpy(1).tolist(), [[1], [16]])
        self.assertEqual(ids.numpy(0)["id"].tolist(), [0, 0, 0])
        mean = self.strategy.reduce(mdist.ReduceOp.MEAN, squares, axes=[0])
        self.assertEqual(mean.numpy(), sum(i * i for i in range(7)) / 7)
        self.assertIsNone(self.strategy.map(0, square))

    def test_a_fetch_takes_what_a_function_makes_of_it(self):
        mirrored = self.strategy.broadcast_to(floats(1, 2, 3))
        self.assertEqual(self.strategy.fetch(mirrored).numpy().tolist(), [1, 2, 3])
        self.assertEqual(self.strategy.fetch(mirrored, "cpu:1", lambda x: x.max(keepdims=True)).numpy(), [3])

    def test_updates_give_results(self):
        variable = self.strategy.variable("w", floats(1))

        def double(local_replica, copy, factor):
            before = copy.copy()
            copy *= factor
            return before, floats(local_replica)

        before, local = variable.update(double, floats(4), results=2)
        self.assertEqual([one.tolist() for one in (before.numpy(2), local.numpy(2), variable.numpy(2))],
                         [[1], [2], [4]])
        steps = self.strategy.update_devices(lambda local, x: x + local, floats(5), results=1)
        self.assertEqual([steps.numpy(i).tolist() for i in range(3)], [[5], [6], [7]])

    def test_updates_take_structures(self):
        variable = self.strategy.variable("w", floats(1, 2))
        each = self.strategy.per_replica(*({"bias": floats(i)} for i in range(3)))
        seen = []

        def subtract(local_replica, copy, given, rate, each):
            copy -= given["w"] * rate + given["of"][0]
            seen.append((listed(given), float(rate), listed(each)))

        variable.update(subtract, {"w": floats(1, 1), "of": [floats(7)]}, .5, each)
        self.assertEqual(variable.numpy(2).tolist(), [-6.5, -5.5])
        self.assertEqual(seen, [({"w": [1, 1], "of": [[7]]}, .5, {"bias": [i]}) for i in range(3)])
        taken = self.strategy.update_devices(lambda local, first, second: [first["x"], second], {"x": floats(1)},
                                              floats(2), results=2)
        self.assertEqual([one.numpy(1).tolist() for one in taken], [[1], [2]])

    def test_functions_that_raise_and_what_stays_of_them(self):
        def fail(*_):
            raise LookupError("no more")

        variable = self.strategy.variable("w", floats(1))
        for call in (lambda: self.strategy.values_from_function(fail), lambda: self.strategy.map(4, fail),
                     lambda: self.strategy.fetch(floats(1), function=fail), lambda: variable.update(fail, results=1),
                     lambda: self.strategy.update_devices(fail)):
            with self.assertRaises(mdist.Error) as caught:
                call()
            self.assertEqual(repr(caught.exception.__cause__), "LookupError('no more')")
            self.assert_usable()
        self.assertEqual(settled(), {})

    def test_a_variable_is_found_by_its_memory(self):
        first = self.strategy.variable("first", floats(1, 2, 3))
        beside = self.strategy.variable("beside", floats(1), colocate_with=first)
        found, local_replica = self.strategy.variable_of(first.numpy(2)[1:])
        del first
        gc.collect()
        self.assertEqual((found.name, local_replica, found.numpy(0).tolist()), ("first", 2, [1, 2, 3]))
        with self.assertRaises(KeyError):
            self.strategy.variable_of(floats(1))
        with mdist.Strategy(devices="cpu*3") as other, self.assertRaises(mdist.Error):
            other.variable("w", floats(1), colocate_with=beside)
