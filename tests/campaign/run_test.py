#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Campaigns count what passes and what fails, and the command they print for a failure repeats it."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run"
REPLAY = """#!/usr/bin/env python3
import os, sys
corpus, count, seed, first = sys.argv[1], *map(int, sys.argv[2:5])
slow = False
for number in range(first, first + count):
    if number == 120000:
        slow = True
        print(f"replay: 2.5 s for seed {seed}, mutation {number}", file=sys.stderr)
    if number in (3, 170000):
        print(f"replay: crashed at seed {seed}, mutation {number}", file=sys.stderr, flush=True)
        os.abort()
sys.exit(1 if slow else 0)
"""


class Campaigns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        program = Path(self.folder.name, "tests/fuzz/made_up_replay")
        program.parent.mkdir(parents=True)
        program.write_text(REPLAY)
        program.chmod(0o755)

    def tearDown(self):
        self.folder.cleanup()

    def run_campaign(self, *arguments):
        return subprocess.run([sys.executable, RUN, *arguments, "--build", self.folder.name], capture_output=True,
                              text=True, timeout=100)

    def test_what_fails_is_counted_and_can_be_repeated(self):
        result = self.run_campaign("fuzz:made_up", "--count", "200000", "--seed", "9")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout.splitlines()[0], "fuzz:made_up: 200000 from seed 9")
        self.assertEqual(result.stdout.splitlines()[-1], "199997 passed, 3 failed")
        commands = re.findall(r"repeat it with: (.*)", result.stdout)
        self.assertEqual([command.split()[-3:] for command in commands],
                         [["1", "9", number] for number in ("3", "120000", "170000")])
        for command in commands:
            again = subprocess.run(command.split(), cwd=RUN.parent.parent.parent, capture_output=True, timeout=60)
            self.assertNotEqual(again.returncode, 0, command)

    def test_a_campaign_that_passes_says_its_seed(self):
        result = self.run_campaign("fuzz:made_up", "--count", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\Afuzz:made_up: 3 from seed \d+\n3 passed, 0 failed\n\Z")

    def test_tallies_of_all_processes_are_added_up(self):
        program = Path(self.folder.name, "tests/gpu/comm/gpu_comm_regroups")
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "tally $MDIST_TEST_COUNT one killed: same bits"\necho "tally 0 regroups"\n')
        program.chmod(0o755)
        result = self.run_campaign("gpu:regroup", "--count", "25", "--seed", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[1:],
                         ["     25 one killed: same bits", "      0 regroups", "25 passed, 0 failed"])

    def test_what_is_not_there_is_told(self):
        for name, words in (("fuzz:nothing", "build it first"), ("soup", "no campaign is called soup")):
            result = self.run_campaign(name, "--count", "1")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
