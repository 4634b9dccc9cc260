#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist bench --workers --beside`: an MPI that is loaded, by both ABIs. Usage: beside_test.py MDIST OPEN_MPI MPICH

The two libraries are this folder's (fake_mpi.c). A real MPI is tried, too, if this machine has one.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

import pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from environment import environment  # noqa: E402
from time_limits import PATIENCE_S  # noqa: E402

MDIST = sys.argv[1]
OPEN_MPI, MPICH = (os.path.realpath(path) for path in sys.argv[2:4])
BENCH = [MDIST, "bench", "--workers", "--quick", "--max", "4KiB", "--factor", "16"]
REAL = {"mpirun.openmpi": ["--oversubscribe", "--allow-run-as-root"], "mpirun.mpich": []}


def bench(*arguments, **variables):
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, env=environment(**variables))


class Beside(unittest.TestCase):
    def test_either_abi_is_called_as_it_wants(self):
        for library, name in ((OPEN_MPI, "Open MPI v0.0.0"), (MPICH, "MPICH Version: 0.0.0")):
            with self.subTest(name):
                result = bench("--json", "--beside", library)
                self.assertEqual(result.returncode, 0, result.stderr)
                found = json.loads(result.stdout)
                self.assertEqual((found["mpi"], found["workers"]), (name, 1))
                self.assertEqual([row["bytes"] for row in found["rows"]], [4, 64, 1024])
                self.assertEqual({row["wrong"] for row in found["rows"]}, {0})
                for row in found["rows"]:
                    self.assertGreater(min(row["mdist_us"], row["mpi_us"], row["times"]), 0)

    def test_the_table_names_both(self):
        lines = bench("--beside", MPICH).stdout.splitlines()
        self.assertEqual(lines[1], "# libmdist beside MPICH Version: 0.0.0, in turns, in the same processes")
        self.assertEqual(lines[2].split(), ["#", "size", "libmdist", "MPI", "times", "#wrong"])
        self.assertEqual([line.split()[0] for line in lines[4:]], ["4", "64", "1024"])

    def test_wrong_sums_fail(self):
        result = bench("--json", "--beside", OPEN_MPI, FAKE_MPI_WRONG="1")
        self.assertEqual(result.returncode, 1)
        self.assertEqual([row["wrong"] for row in json.loads(result.stdout)["rows"]], [1, 1, 1])

    def test_ranks_that_are_no_workers_are_refused(self):
        for variables in ({"FAKE_MPI_SIZE": "2"}, {"MDIST_DEVICES": "cpu*2"}):
            result = bench("--beside", MPICH, **variables)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("each rank must be a worker with one replica", result.stderr)

    def test_what_is_no_mpi_is_refused(self):
        self.assertIn("no MPI could be loaded", bench("--beside", __file__).stderr)
        self.assertEqual(bench("--beside", "/nowhere").returncode, 2)
        self.assertEqual(bench("--beside", MPICH, "--op", "max").returncode, 2)

    def test_a_real_mpi(self):
        tried = 0
        for launcher, options in REAL.items():
            if not shutil.which(launcher):
                continue
            with self.subTest(launcher):
                result = subprocess.run([launcher, *options, "-n", "2", *BENCH, "--json", "--beside", "mpi"], text=True,
                                        capture_output=True, timeout=PATIENCE_S,
                                        env=environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
                self.assertEqual(result.returncode, 0, result.stderr)
                found = json.loads(result.stdout)
                self.assertEqual((found["workers"], {row["wrong"] for row in found["rows"]}), (2, {0}))
                tried += 1
        if not tried:
            self.skipTest("no MPI is installed here")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
