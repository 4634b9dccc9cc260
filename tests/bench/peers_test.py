#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks beside other libraries run, name the libraries that are missing, and judge and draw their figures as they
should. Usage: peers_test.py RUN BUILD"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.etree.ElementTree

RUN, BUILD = sys.argv[1], sys.argv[2]
sys.dont_write_bytecode = True
FOLDER = pathlib.Path(RUN).resolve().parent
sys.path.insert(0, str(FOLDER))

import calls  # noqa: E402
import charts  # noqa: E402
import contestants  # noqa: E402
import goals  # noqa: E402
import pypi  # noqa: E402
import scene  # noqa: E402
from busy import busy  # noqa: E402
from drawing import drawn  # noqa: E402
from launch import Failed, Place, Skipped  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20


def run(*arguments):
    result = subprocess.run([sys.executable, RUN, "--build", BUILD, "--quick", *arguments], capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Pictures(unittest.TestCase):
    def test_charts_show_the_reports_beside_them(self):
        reports = pathlib.Path(RUN).resolve().parents[3] / "docs/maintainers/performance/reports"
        with tempfile.TemporaryDirectory() as folder:
            for data in reports.glob("*.json"):
                subprocess.run([sys.executable, pathlib.Path(RUN).parent / "plot", data, "--out", folder], check=True)
            pictures = list(reports.glob("*.svg"))
            self.assertTrue(pictures)
            for picture in pictures:
                with self.subTest(picture.name):
                    self.assertEqual(pathlib.Path(folder, picture.name).read_text(), picture.read_text())


class Quick(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report = json.loads(run("--json", "--workers", "2", "--hosts", "2"))

    def test_every_contestant_is_measured_or_named_as_missing(self):
        self.assertTrue(self.report["scenes"])
        for scene in self.report["scenes"]:
            second = "Open MPI, ring" if scene["between_hosts"] else "Open MPI, best"
            floors = () if scene["between_hosts"] else ("floor, pull", "floor, push")
            today = () if scene["between_hosts"] else ("Open MPI 5, best", "MPICH 5", "Intel MPI")
            for family in ("Open MPI", second, "MPICH", "Gloo", "libmdist", *floors, *today):
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


class Variants(unittest.TestCase):
    def test_an_algorithm_that_takes_too_long_leaves_the_others_in(self):
        every = contestants.variants(True)
        ways = {(one.family, one.name): scene.way_of(one) for one in every}
        self.assertEqual(ways["MPICH", "in place"], ways["MPICH", "separate"])
        self.assertEqual(len({ways["Gloo", one.name] for one in every if one.family == "Gloo"}), 4)

    def test_so_do_settings(self):
        every = [one for one in contestants.variants(False) if one.family.endswith(" 5, best")]
        self.assertEqual(2 * len({scene.way_of(one) for one in every}), len(every))


class Pypi(unittest.TestCase):
    def test_nothing_is_fetched_unasked(self):
        with tempfile.TemporaryDirectory() as folder:
            for program in pypi.PACKAGES:
                with self.assertRaisesRegex(Skipped, "--pypi"):
                    contestants.make(program, pathlib.Path(folder), pathlib.Path(folder))
            self.assertFalse(any(pathlib.Path(folder).iterdir()))

    def test_what_cannot_be_fetched_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, PIP_NO_INDEX="1"):
            with self.assertRaisesRegex(Skipped, "pip could not install mpich==[0-9.]+ "):
                pypi.environment("mpich5", pathlib.Path(folder))


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


class Busy(unittest.TestCase):
    def test_the_processes_end_with_the_block(self):
        with busy(2, 60) as processes:
            self.assertEqual([process.poll() for process in processes], [None, None])
        for process in processes:
            with self.assertRaises(ProcessLookupError):
                os.killpg(process.pid, 0)

    def test_they_end_if_it_fails(self):
        with self.assertRaises(KeyError), busy(1, 60) as processes:
            raise KeyError
        self.assertIsNotNone(processes[0].poll())


class Calls(unittest.TestCase):
    def test_lines_are_read(self):
        said = ("gbdt bytes=102400 ns=7935327.0 cpu_ns=5848208.6 wrong=0\nsome other line\n"
                "reduce bytes=4 ns=1500.0 cpu_ns=3000.0 wrong=0\n")
        self.assertEqual(calls.parsed(said), {("gbdt", 102400): (7935.327, 5848.2086), ("reduce", 4): (1.5, 3.0)})

    def test_a_wrong_element_is_a_failure(self):
        with self.assertRaisesRegex(Failed, "reduce of 4 bytes: 2 wrong"):
            calls.parsed("reduce bytes=4 ns=1.0 cpu_ns=1.0 wrong=2\n")

    def test_collectives_and_the_pattern_are_runs_of_their_own(self):
        driver = program("collectives")
        arguments = driver.parse_arguments(["--collectives", "gather,gbdt,reduce", "--sizes", "4,8"])
        self.assertEqual(driver.wanted_rows(arguments), [(["gather", "reduce"], [4, 8]), (["gbdt"], [102400])])
        arguments = driver.parse_arguments(["--collectives", "gbdt"])
        self.assertEqual(driver.wanted_rows(arguments), [(["gbdt"], [102400])])

    def test_only_rounds_that_both_have_are_compared(self):
        row = ("reduce", 4)
        found = {"mdist": {row: {0: (2.0, 4.0), 2: (4.0, 4.0)}}, "openmpi": {row: {0: (3.0, 2.0), 1: (9.0, 9.0)}}}
        (one,) = program("collectives").as_rows(found)
        self.assertEqual(one["ratios"], {"openmpi": [1.5]})
        self.assertEqual(one["us"], {"mdist": 3.0, "openmpi": 6.0})


class Gbdt(unittest.TestCase):
    found = {"libmdist, shm": {0: 2.0, 1: 4.0, 2: 5.0}, "libmdist, tcp": {}, "sockets": {0: 4.0, 2: 5.0, 1: 6.0},
             "Open MPI": {1: 1.0}}

    def test_a_ratio_is_the_median_of_the_rounds(self):
        driver = program("gbdt")
        self.assertEqual(driver.ratio(self.found, "sockets", "libmdist, shm"), {"median": 1.5, "range": [1.0, 2.0]})
        self.assertIsNone(driver.ratio(self.found, "sockets", "libmdist, tcp"))

    def test_what_was_not_measured_is_left_out(self):
        one = program("gbdt").cell(3, 2, self.found, {"libmdist, tcp": "round 1: it failed"})
        self.assertEqual(one["ratios"]["libmdist, tcp"], {})
        self.assertEqual(one["ratios"]["libmdist, shm"]["Open MPI"], {"median": 0.25, "range": [0.25, 0.25]})
        self.assertEqual(one["ms"], {"libmdist, shm": 4.0, "sockets": 5.0, "Open MPI": 1.0})


class Charts(unittest.TestCase):
    def test_the_pattern_is_drawn_by_busy_processes(self):
        cells = [{"workers": 2, "busy": busy_ones, "ratios": {"libmdist, shm": {"sockets": {"median": ratio}}}}
                 for busy_ones, ratio in ((0, 2.0), (4, 0.3))]
        found = charts.charts_of({"machine": "m", "cells": cells})
        self.assertEqual(list(found), ["gbdt_shm_2_workers"])
        self.assertEqual(found["gbdt_shm_2_workers"].curves, {"sockets": [(0, 2.0), (4, 0.3)]})

    def test_collectives_are_drawn_by_size(self):
        rows = [{"collective": "gather", "bytes": size, "ratios": {"openmpi": [1.0, 3.0, 2.0]}} for size in (4, KIB)]
        rows.append({"collective": "gbdt", "bytes": 102400, "ratios": {"openmpi": [1.0]}})
        found = charts.charts_of({"machine": "m", "way": "tcp", "scenes": [{"workers": 4, "rows": rows}]})
        self.assertEqual(found["collectives_tcp_4_workers"].curves, {"gather": [(4, 2.0), (KIB, 2.0)]})

    def test_a_library_has_one_color_which_is_dashed_as_shipped(self):
        times = {name: {"ns": 2e9} for name in ("MPICH 5", "MPICH 5, best", "libmdist", "floor, pull")}
        one = {"name": "2 workers, one host", "workers": 2, "between_hosts": False,
               "rows": [{"bytes": 4, "times": times, "to_floor": {}}]}
        chart = charts.charts_of({"machine": "m", "scenes": [one]})["bandwidth_2_workers_one_host"]
        self.assertEqual(chart.curves, {name: [(4, 2.0)] for name in ("MPICH 5", "MPICH 5, best", "libmdist")})
        self.assertEqual(chart.color("MPICH 5"), chart.color("MPICH 5, best"))
        self.assertEqual(drawn(chart).count("dasharray"), 1)

    def test_ticks_enclose_the_values(self):
        for values in ([0.0031, 900.0], [1.0], [0.49, 2.1], [1.4, 1.6]):
            ticks = [tick for tick, _ in charts.ratio_ticks(values)]
            self.assertLessEqual(ticks[0], min(*values, 0.5))
            self.assertGreaterEqual(ticks[-1], max(*values, 2))
            self.assertIn(1.0, ticks)

    def test_a_drawing_has_every_curve_within_its_edges(self):
        chart = charts.ratios_by_size("title", "meaning", "machine", [{"bytes": 4}, {"bytes": MIB}],
                                      {"a": [(4, 0.01), (MIB, 3.0)], "b": [(4, 1.0)], "none": []})
        drawing = xml.etree.ElementTree.fromstring(drawn(chart))
        circles = drawing.findall("{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(drawing.findall("{http://www.w3.org/2000/svg}polyline")), 2)
        self.assertEqual(len(circles), 3)
        for circle in circles:
            self.assertTrue(0 < float(circle.get("cx")) < 760 and 0 < float(circle.get("cy")) < 400)


class All(unittest.TestCase):
    def test_a_part_leaves_its_report_and_charts(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, FOLDER / "all", "--out", folder, "--build", BUILD, "--quick",
                                     "--only", "gbdt,tensorflow"], capture_output=True, text=True,
                                    env={**os.environ, "XDG_CACHE_HOME": folder})  # no frameworks there
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("tensorflow: left out: ", result.stdout)
            report = json.loads((pathlib.Path(folder) / "gbdt.json").read_text())
            self.assertTrue((pathlib.Path(folder) / "gbdt_shm_2_workers.svg").exists())
        self.assertEqual([(one["workers"], one["busy"]) for one in report["cells"]], [(2, 0), (2, 1)])
        for one in report["cells"]:
            for name in ("libmdist, shm", "libmdist, tcp", "sockets", "Open MPI", "Open MPI, tcp"):
                with self.subTest(name, busy=one["busy"]):
                    self.assertTrue(one["ms"].get(name, 0) > 0 or report["missing"].get(name), one["failed"])

    def test_every_part_is_a_program_here(self):
        for part in program("all").PARTS:
            self.assertTrue(os.access(FOLDER / part.program, os.X_OK))

    def test_an_unknown_part_is_refused(self):
        result = subprocess.run([sys.executable, FOLDER / "all", "--only", "gbtd"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--only gbtd: must be one of one_host, ", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
