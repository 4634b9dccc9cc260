#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist bench --workers`: all collectives, checked results, nccl-tests' columns. Usage: workers_test.py MDIST [CORRUPT]"""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from environment import environment  # noqa: E402
from time_limits import PATIENCE_S  # noqa: E402

MDIST = sys.argv[1]
CORRUPT = sys.argv[2] if len(sys.argv) > 2 else None  # a library to preload; not with sanitizers

DATA = ["all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "uint32", "int64", "uint64"]


def bench(*arguments, devices="cpu*2", **variables):
    return subprocess.run([MDIST, "bench", "--workers", "--quick", *arguments], capture_output=True, text=True,
                          env=environment(MDIST_DEVICES=devices, **variables))


def rows(*arguments, devices="cpu*2"):
    result = bench("--json", *arguments, devices=devices)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["rows"]


class Workers(unittest.TestCase):
    def test_every_collective_and_size_is_there(self):
        found = rows("--min", "1KiB", "--max", "64KiB", "--factor", "8")
        self.assertEqual(list(dict.fromkeys(row["collective"] for row in found)), DATA + ["barrier"])
        for name in DATA:
            self.assertEqual([row["bytes"] for row in found if row["collective"] == name], [1 << 10, 1 << 13, 1 << 16])

    def test_bandwidths_are_those_of_nccl_tests(self):
        counts = {"all_reduce": 4096, "broadcast": 4096, "all_gather": 1024, "reduce_scatter": 1024, "all_to_all": 1024}
        factors = {"all_reduce": 1.5, "broadcast": 1, "all_gather": 0.75, "reduce_scatter": 0.75, "all_to_all": 0.75}
        for row in rows("--min", "16KiB", "--max", "16KiB", "--collective", ",".join(DATA), devices="cpu*4"):
            with self.subTest(row["collective"]):
                self.assertEqual(row["count"], counts[row["collective"]])
                self.assertAlmostEqual(row["algbw_gbs"], row["bytes"] / (row["time_us"] * 1e3), places=6)
                self.assertAlmostEqual(row["busbw_gbs"], row["algbw_gbs"] * factors[row["collective"]], places=6)

    def test_results_are_right_for_all_types_operations_and_replica_counts(self):
        for replicas in (1, 3):
            for dtypes, ops in ((DTYPES, "sum,min,max,prod"), (DTYPES[:4], "mean")):
                found = rows("--min", "3", "--max", "4KiB", "--factor", "37", "--dtype", ",".join(dtypes), "--op", ops,
                             "--root", str(replicas - 1), devices=f"cpu*{replicas}")
                self.assertEqual({row["dtype"] for row in found if "dtype" in row}, set(dtypes))
                self.assertEqual({row["op"] for row in found if row.get("op")}, set(ops.split(",")))
                self.assertEqual({row.get("wrong", 0) for row in found}, {0})

    @unittest.skipUnless(CORRUPT, "a sanitizer refuses preloaded libraries")
    def test_wrong_results_are_counted_and_fail(self):
        for memory in ("ordinary", "library"):
            result = bench("--json", "--min", "4KiB", "--max", "4KiB", "--memory", memory, LD_PRELOAD=CORRUPT)
            self.assertEqual(result.returncode, 1)
            found = {row["collective"]: row["wrong"] for row in json.loads(result.stdout)["rows"] if "wrong" in row}
            # In place, replica 1's wrong element may reach no other replica, since the operation is over.
            self.assertEqual(found, dict.fromkeys(DATA, 1))

    def test_table_has_the_columns_people_know(self):
        lines = bench("--collective", "all_gather", "--min", "64", "--max", "64").stdout.splitlines()
        self.assertRegex(lines[0], "^# 2 replicas on 1 worker, ordinary memory")
        self.assertEqual(lines[3].split(),
                         ["#", "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"])
        self.assertEqual(lines[5].split()[:5] + lines[5].split()[-1:], ["64", "8", "float32", "-", "-", "0"])

    def test_what_cannot_be_measured_is_refused_with_a_sentence(self):
        for arguments, word in ((["--root", "2"], "--root 2"), (["--min", "0"], "--min 0"),
                                (["--op", "mean", "--dtype", "int32"], "MEAN")):
            with self.subTest(arguments):
                result = bench(*arguments)
                self.assertEqual(result.returncode, 1)
                self.assertIn(word, result.stderr)

    def test_bad_words_are_refused(self):
        for arguments in (["--workers", "--dtype", "float33"], ["--workers", "--op", "nand"], ["--max", "4KiB"],
                          ["--workers", "--filter", "x"], ["--workers", "--factor", "1"]):
            with self.subTest(arguments):
                result = subprocess.run([MDIST, "bench", *arguments], capture_output=True, text=True)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout, "")


class Launched(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if " launch " not in subprocess.run([MDIST, "--help"], capture_output=True, text=True).stdout:
            raise unittest.SkipTest("this mdist launches nothing")

    def launch(self, workers, *arguments):
        return subprocess.run([MDIST, "launch", "-n", str(workers), "--no-prefix", "--", MDIST, "bench", "--workers",
                               "--quick", *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                              env=environment(MDIST_DEVICES="cpu*2"))

    def test_worker_0_alone_prints_what_all_replicas_did(self):
        result = self.launch(2, "--json", "--max", "64KiB", "--factor", "50", "--dtype", "float32,bfloat16", "--op",
                             "sum,max", "--root", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual((found["workers"], found["replicas"]), (2, 4))
        self.assertEqual({row["collective"] for row in found["rows"]}, {*DATA, "barrier"})
        self.assertEqual({row.get("wrong", 0) for row in found["rows"]}, {0})

    def test_library_memory_is_right_too(self):
        result = self.launch(2, "--json", "--memory", "library", "--min", "1KiB", "--max", "4MiB", "--factor", "4096")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({row.get("wrong", 0) for row in json.loads(result.stdout)["rows"]}, {0})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
