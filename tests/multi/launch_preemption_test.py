#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM to one worker, or to the launcher, during collectives. Usage: launch_preemption_test.py MDIST MULTI_LOSSES"""
import os
import random
import signal
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(2))

from launch_support import Running, launch  # noqa: E402, reads what is left
from seeds import is_long, test_seed  # noqa: E402

WORKERS = 3
JOB = ["-n", str(WORKERS), "--env", "MDIST_DEVICES=cpu*1", "--env", "TEST_VICTIM=1", "--env", "TEST_SEED=1"]


def scenario(name):
    return ["--", PROGRAM, "--worker", name]


class Preemption(unittest.TestCase):
    def test_one_that_is_killed_is_blamed_however_fast_the_others_fail(self):
        chance = random.Random(test_seed(1))
        for _ in range(200 if is_long() else 5):
            victim = chance.randrange(WORKERS)
            # The others turn the error into an exit code, and do nothing else with it.
            with Running(*JOB, "--grace", "1000", *scenario("all_end_when_one_is_asked")) as job:
                os.kill(int(job.lines(WORKERS)[victim].split()[-1]), signal.SIGKILL)
                self.assertEqual(job.end(), 128 + signal.SIGKILL, job.errors)
            self.assertRegex(job.errors, rf"(?m)^ +{victim} .* killed by SIGKILL  <- first failure$")
            self.assertEqual(job.errors.count("exit code 3"), WORKERS - 1, job.errors)

    def test_one_that_leaves_and_fails_last_is_blamed_for_what_the_others_make_of_it(self):
        # The others hold the named pipe open. The victim ends once they have ended.
        script = """if [ "$MDIST_RANK" = 1 ]; then
    exec 8<"$1/alive"
    "$2" --worker one_leaves && cat <&8
    exit 5
fi
exec 9<>"$1/alive"
"$2" --worker one_leaves
exit 3"""
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(folder + "/alive")
            result = launch(*JOB, "--grace", "1000", "--", "sh", "-c", script, "sh", folder, PROGRAM)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertRegex(result.stderr, r"(?m)^ +1 .* exit code 5  <- first failure$")

    def test_one_that_is_ended_is_named_by_all_others_and_by_the_launcher(self):
        result = launch(*JOB, "--grace", "1000", "--env", "TEST_SIGNAL=15", "--env", "TEST_MOMENT=300",
                        *scenario("one_dies"))
        self.assertEqual(result.returncode, 128 + signal.SIGTERM, result.stderr)
        self.assertRegex(result.stderr, r"(?m)^ +1 .* killed by SIGTERM  <- first failure$")
        # The others have found what they should, and ended by themselves.
        for rank in (0, 2):
            self.assertNotRegex(result.stderr, rf"(?m)^ +{rank} .*(killed|exit code [1-9])")

    def test_workers_that_hear_it_end_together_and_well(self):
        with Running(*JOB, "--grace", "1000", "--env", "TEST_ALL_ASKED=1", *scenario("all_end_when_one_is_asked")) as job:
            job.lines(WORKERS)
            job.send(signal.SIGTERM)
            self.assertEqual(job.end(), 0, job.errors)
            self.assertEqual(job.output.count("asked"), WORKERS)

    def test_one_worker_that_hears_it_tells_the_others_by_a_collective(self):
        with Running(*JOB, *scenario("all_end_when_one_is_asked")) as job:
            one = job.lines(WORKERS)[1].split()[-1]
            os.kill(int(one), signal.SIGTERM)
            self.assertEqual(job.end(), 0, job.errors)
            self.assertEqual(job.output.count("asked"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
