#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Campaigns count what passes and what fails, and the command they print for a failure repeats it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run"
LOAD = RUN.with_name("load")
REPLAY = """#!/usr/bin/env python3
import os, sys
count, seed, first = map(int, sys.argv[3:6])
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
        program = Path(self.folder.name, "tests/fuzz/replay")
        program.parent.mkdir(parents=True)
        program.write_text(REPLAY)
        program.chmod(0o755)

    def tearDown(self):
        self.folder.cleanup()

    def run_campaign(self, *arguments, env=None):
        return subprocess.run([sys.executable, RUN, *arguments, "--build", self.folder.name], capture_output=True,
                              text=True, timeout=100, env=env)

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

    def stand_in(self, path, script):
        program = Path(self.folder.name, path)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)

    def test_a_seed_that_fails_can_be_repeated_alone_if_the_program_names_it(self):
        self.stand_in("tests/unit/unit", 'echo "ERROR: seed 203: worker 1 has wrong results"; exit 1\n')
        result = self.run_campaign("unit:plan", "--count", "200", "--seed", "100")
        self.assertIn("repeat it with: MDIST_TEST_SEED=203 ", result.stdout)
        self.assertEqual(result.stdout.splitlines()[-1], "199 passed, 1 failed")
        self.stand_in("tests/unit/unit", 'echo "crashed"; exit 1\n')
        result = self.run_campaign("unit:plan", "--count", "200", "--seed", "100")
        self.assertIn("repeat it with: MDIST_TEST_SEED=100 MDIST_TEST_COUNT=200 ", result.stdout)

    def test_any_of_mesons_tests_runs_from_one_seed_after_another(self):
        self.stand_in("bin/meson", 'echo "$* from $MDIST_TEST_SEED"; test "$MDIST_TEST_SEED" != 6\n')
        path = f"{self.folder.name}/bin:{os.environ['PATH']}"
        result = self.run_campaign("random:handle", "--count", "3", "--seed", "5", env={**os.environ, "PATH": path})
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 1 failed", result.stderr)
        self.assertRegex(result.stdout, r"FAILED run 1: test -C .* --no-rebuild handle from 6")
        self.assertRegex(result.stdout, r"repeat it with: MDIST_TEST_SEED=6 meson test ")

    def test_what_is_not_there_is_told(self):
        for name, words in (("sim:regroup", "build it first"), ("soup", "no campaign is called soup")):
            result = self.run_campaign(name, "--count", "1")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)


class Load(unittest.TestCase):
    """Three tests: one passes, one fails in its second run, one is skipped."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        bodies = {"good": "exit 0", "shaky": f'cd {self.folder.name}; echo x >>runs; [ "$(wc -l <runs)" != 2 ] || {{ echo no good; exit 1; }}',
                  "needy": "exit 77"}
        tests = [{"name": name, "cmd": ["sh", "-c", body], "env": {"WHO": name}, "suite": ["mdist:made_up"],
                  "workdir": None, "timeout": 60} for name, body in bodies.items()]
        path = Path(self.folder.name, "meson-info/intro-tests.json")
        path.parent.mkdir()
        path.write_text(json.dumps(tests))

    def load(self, *arguments):
        result = subprocess.run([sys.executable, LOAD, "--build", self.folder.name, "--loops", "1", *arguments],
                                capture_output=True, text=True, timeout=100)
        return result.returncode, result.stdout.splitlines(), result.stderr

    def test_a_portion_goes_on_where_the_last_one_stopped(self):
        code, lines, errors = self.load("--minutes", "0")
        self.assertEqual((code, lines[-1]), (0, "0 passed, 0 failed"), errors)
        self.assertIn("9 runs of 3 tests are left", lines[0])
        code, lines, errors = self.load("good", "--minutes", "60")
        self.assertEqual((code, lines), (0, ["3 passed, 0 failed"]), errors)
        code, lines, errors = self.load()
        self.assertEqual((code, lines[-1]), (1, "5 passed, 1 failed"), errors)
        self.assertIn("skipped: made_up/needy", lines)
        self.assertIn("FAILED made_up/shaky, run 2: no good", lines)
        log = next(Path(line.split()[-1]) for line in lines if "log:" in line)
        self.assertTrue(log.read_text().startswith("WHO=shaky sh -c "), log.read_text())
        self.assertTrue(log.read_text().endswith("\nno good\n"), log.read_text())
        self.assertTrue(any("repeat it with:" in line and "--count 50 made_up/shaky" in line for line in lines), lines)
        self.assertEqual(self.load()[:2], (1, ["skipped: made_up/needy", "5 passed, 1 failed"]))  # nothing is left
        self.assertEqual(self.load("--anew")[1][-1], "6 passed, 0 failed")

    def test_a_count_of_its_own_leaves_the_portions_alone(self):
        code, lines, errors = self.load("--count", "5", "good")
        self.assertEqual((code, lines), (0, ["5 passed, 0 failed"]), errors)
        self.assertIn("9 runs of 3 tests are left", self.load("--minutes", "0")[1][0])

    def test_what_is_not_there_is_told(self):
        self.assertIn("no test is called soup", self.load("soup")[2])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
