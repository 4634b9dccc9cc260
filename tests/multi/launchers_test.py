#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed launcher must tell each process which worker it is, and all processes where they meet. Slurm's srun is
tried only if MDIST_TEST_SLURM is set, as the suite slurm does. Usage: launchers_test.py LAUNCHED"""
import json
import os
import shutil
import subprocess
import sys
import unittest

LAUNCHED = sys.argv[1]
COMMANDS = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"],
    "pmi": ["mpirun.mpich", "-n"],
    "slurm": ["srun", "--overcommit", "-N1", "-n"],
}
FOREIGN = ("MDIST_", "TF_CONFIG", "OMPI_", "PMI", "PMIX_", "SLURM_", "HOROVOD_", "PET_", "RANK", "WORLD_SIZE")
INSTALLED = {source: command for source, command in COMMANDS.items() if shutil.which(command[0])}
if "MDIST_TEST_SLURM" not in os.environ:
    INSTALLED.pop("slurm", None)


def launch(source, workers, *arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if name == "SLURM_CONF" or not name.startswith(FOREIGN)}
    return subprocess.run([*INSTALLED[source], str(workers), LAUNCHED, *arguments], env={**clean, **environment},
                          capture_output=True, text=True, timeout=180)


def found(result):
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return sorted(lines, key=lambda one: one["rank"])


class Launchers(unittest.TestCase):
    def test_every_worker_knows_its_place_and_all_meet_at_one(self):
        for source in INSTALLED:
            with self.subTest(source):
                result = launch(source, 3)
                workers = found(result)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual([(one["source"], one["rank"], one["size"]) for one in workers],
                                 [(source, rank, 3) for rank in range(3)])
                self.assertEqual([one["local_size"] for one in workers], [3, 3, 3])
                self.assertEqual(sorted(one["local_rank"] for one in workers), [0, 1, 2])
                self.assertEqual([one["serves"] for one in workers], [1, 0, 0])
                self.assertEqual([one["listens"] for one in workers], [1, 1, 1])
                self.assertEqual(len({one["store"] for one in workers}), 1)
                self.assertRegex(workers[0]["store"], r"^127\.0\.0\.1:\d+$")
                self.assertEqual(len({one["job"] for one in workers}), 1)
                secret = "told-by-PMI-alone" if source == "pmi" else ""
                self.assertEqual([one["secret"] for one in workers], [secret] * 3)

    def test_one_worker_meets_nobody(self):
        for source in INSTALLED:
            with self.subTest(source):
                result = launch(source, 1)
                self.assertEqual([(one["source"], one["size"], one["store"]) for one in found(result)],
                                 [(source, 1, "")], result.stderr)

    def test_a_given_store_is_taken(self):
        for source in INSTALLED:
            with self.subTest(source):
                workers = found(launch(source, 2, "found only", MDIST_STORE="10.1.2.3:4400"))
                self.assertEqual([one["store"] for one in workers], ["10.1.2.3:4400"] * 2)

    def test_what_contradicts_the_launcher_is_refused(self):
        torch = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "h", "MASTER_PORT": "1"}
        for source in INSTALLED:
            if source == "slurm":
                continue  # counts only if no other source says anything
            with self.subTest(source):
                result = launch(source, 2, "found only", **torch)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("contradiction: torchrun (RANK, WORLD_SIZE", result.stderr)
                result = launch(source, 2, "found only", **torch, MDIST_BOOTSTRAP=source)
                self.assertEqual([one["size"] for one in found(result)], [2, 2], result.stderr)


if __name__ == "__main__":
    if not INSTALLED:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
