#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark beside other libraries runs, and names the libraries that are missing. Usage: peers_test.py RUN BUILD"""
import json
import pathlib
import subprocess
import sys
import types
import unittest

RUN, BUILD = sys.argv[1], sys.argv[2]
sys.dont_write_bytecode = True
FOLDER = pathlib.Path(RUN).resolve().parent
sys.path.insert(0, str(FOLDER))

import goals  # noqa: E402
import scene  # noqa: E402
from launch import Place  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20


def run(*arguments):
    result = subprocess.run([sys.executable, RUN, "--build", BUILD, "--quick", *arguments], capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Picture(unittest.TestCase):
    def test_it_shows_the_figures_beside_it(self):
        pictures = pathlib.Path(RUN).resolve().parents[3] / "docs/pictures"
        for data in pictures.glob("*.json"):
            drawn = subprocess.run([sys.executable, pathlib.Path(RUN).parent / "plot", data], capture_output=True,
                                   text=True, check=True).stdout
            self.assertEqual(drawn, data.with_suffix(".svg").read_text())


class Quick(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report = json.loads(run("--json", "--workers", "2", "--hosts", "2"))

    def test_every_contestant_is_measured_or_named_as_missing(self):
        self.assertTrue(self.report["scenes"])
        for scene in self.report["scenes"]:
            second = "Open MPI, ring" if scene["between_hosts"] else "Open MPI, best"
            floors = () if scene["between_hosts"] else ("floor, pull", "floor, push")
            for family in ("Open MPI", second, "MPICH", "Gloo", "libmdist", *floors):
                with self.subTest(scene["name"], family=family):
                    measured = all(row["times"].get(family, {}).get("ns", 0) > 0 for row in scene["rows"])
                    self.assertTrue(measured or scene["not_here"].get(family))

    def test_the_library_does_not_fail(self):
        for scene in self.report["scenes"]:
            for family, reason in scene["not_here"].items():
                if family.startswith("libmdist"):
                    self.assertRegex(reason, "^skipped: ")

    def test_hosts_are_measured_or_the_reason_is_told(self):
        between = any(scene["between_hosts"] for scene in self.report["scenes"])
        self.assertNotEqual(between, "between hosts" in self.report["skipped"])

    def test_table_names_scene_and_reasons(self):
        table = run("--workers", "2", "--hosts", "", "--filter", "mdist", "--sizes", "4")
        self.assertIn("2 workers, one host", table)
        self.assertIn("libmdist", table)


def program(name):
    """Returns a driver as a module."""
    module = types.ModuleType(name)
    module.__file__ = str(FOLDER / name)
    exec(compile((FOLDER / name).read_text(), name, "exec"), module.__dict__)
    return module


class Places(unittest.TestCase):
    def test_several_workers_of_a_host_follow_each_other(self):
        one, many = program("run").host_places("3,2x4")
        self.assertEqual((one.workers, one.host_count, one.hosts()), (3, 3, "host1,host2,host3"))
        self.assertEqual((many.workers, many.host_count, many.hosts()), (8, 2, "host1:4,host2:4"))
        self.assertEqual([many.start(rank) for rank in (0, 3, 4)], [["on_host", "1"], ["on_host", "1"], ["on_host", "2"]])
        self.assertEqual((many.address(3), many.address(4)), ("10.78.0.1", "10.78.0.2"))
        self.assertEqual(many.name, "2 hosts, 4 workers each")

    def test_the_wire_carries_a_ring_of_hosts(self):
        plan = scene.Plan(Place(8, True, 4), [], 1, 0, rate_bits=1e9)
        self.assertEqual(plan.bound_ns(1000), 8000)

    def test_other_words_are_refused(self):
        for word in ("0", "2x", "x4", "2x0", "two"):
            with self.assertRaisesRegex(SystemExit, f"--hosts {word}: "):
                program("run").host_places(word)


class Floors(unittest.TestCase):
    def test_own_memory_is_compared_round_by_round(self):
        own, pull = {0: 10.0, 1: 30.0, 2: 12.0}, {0: 10.0, 1: 20.0, 2: 10.0, 3: 1.0}
        found = scene.to_floors(16 * MIB, {"libmdist, own memory": own, "floor, pull": pull})
        self.assertEqual(found, {"floor, pull": {"ratio": 1.2, "range": [1.0, 1.5],
                                                 "goal": {"text": "at most 1.15x", "holds": False}}})

    def test_floors_are_no_peers(self):
        times = {"floor, pull": {"ns": 1}, "Gloo": {"ns": 3}, "libmdist": {"ns": 2}}
        best = {"floor, pull": {0: 1}, "Gloo": {0: 3}, "libmdist": {0: 2}}
        self.assertEqual(scene.compared(times, best), {"best_peer": "Gloo", "speedup": {"libmdist": 1.5}})


class Goals(unittest.TestCase):
    def test_own_memory_may_take_little_more_than_the_bare_exchange(self):
        self.assertIsNone(goals.own_memory(256 * KIB, 9))
        for size, most in ((MIB, 1.3), (4 * MIB, 1.3), (16 * MIB, 1.15), (100 * MIB, 1.15)):
            self.assertTrue(goals.own_memory(size, most).holds)
            self.assertFalse(goals.own_memory(size, most + 0.01).holds)

    def test_small_messages_may_cost_150_ns_or_a_tenth_more(self):
        holds = [goals.one_host(4, 2, False, 0, own, peer).holds
                 for own, peer in ((250, 100), (251, 100), (1.1e4, 1e4), (1.2e4, 1e4))]
        self.assertEqual(holds, [True, False, True, False])

    def test_large_messages_are_to_be_faster(self):
        for size, workers, own_memory, wanted in ((MIB, 2, False, "1.1x"), (16 * MIB, 2, False, "1.3x"),
                                                  (MIB, 2, True, "2x"), (256 * KIB, 4, False, "1.2x"),
                                                  (100 * MIB, 4, False, "1.5x")):
            speedup = float(wanted[:-1])
            for value, holds in ((speedup, True), (speedup - 0.01, False)):
                goal = goals.one_host(size, workers, own_memory, value, 1, 1)
                self.assertEqual((goal.text, goal.holds), (wanted, holds))

    def test_between_hosts_the_wire_counts_for_the_largest_only(self):
        self.assertFalse(goals.between_hosts(100 * MIB, 5, 0.89).holds)
        self.assertTrue(goals.between_hosts(100 * MIB, 0.5, 0.9).holds)
        self.assertTrue(goals.between_hosts(MIB, 0.92, 0.1).holds)
        self.assertFalse(goals.between_hosts(4 * KIB, 0.99, 1).holds)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
