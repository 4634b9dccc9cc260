#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist launch -n MIN:MAX`: workers of an elastic job are killed and replaced. Usage: elastic_launch_test.py MDIST
PROGRAM, where PROGRAM is the test multi_elastic, whose training it runs."""
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from seeds import is_long, test_seed  # noqa: E402
from time_limits import Late, in_time, try_longer  # noqa: E402
from workers import start  # noqa: E402

MDIST, WORKER = sys.argv[1:3]
SETTINGS = {"MDIST_ELASTIC_REPLICAS": "8", "TEST_STEPS": "2000", "TEST_PID": "1"}


class Launched:
    """An elastic job under the launcher, whose lines can be awaited. With a gate, it does not end before end()."""

    def __init__(self, size, gate=False, job=None, options=(), wrapper=(), **variables):
        self.folder = tempfile.TemporaryDirectory(prefix="mdist-gate-")
        self.gate = pathlib.Path(self.folder.name, "open")
        self.program = pathlib.Path(self.folder.name, "worker")
        self.program.symlink_to(pathlib.Path(WORKER).resolve())
        if gate:
            variables["TEST_GATE"] = str(self.gate)
        self.process = start(MDIST, "launch", "-n", size, *(["--job", job] if job else []), *options, "--", *wrapper, self.program,
                             "worker", errors=subprocess.PIPE, **SETTINGS, **variables)
        self.lines = []

    def await_lines(self, pattern, count):
        """What the first group of the pattern matched, in so many lines."""
        found = [match[1] for line in self.lines if (match := re.search(pattern, line))]
        while len(found) < count:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"only {len(found)} lines with {pattern}: {self.lines}\n{self.process.stderr.read()}")
            self.lines.append(line)
            if match := re.search(pattern, line):
                found.append(match[1])
        return found

    def end(self):
        """Opens the gate, and returns exit code, results and errors."""
        self.gate.touch()
        out, errors = self.process.communicate(timeout=300)
        self.folder.cleanup()
        self.lines += out.splitlines()
        return self.process.returncode, [line for line in self.lines if "result" in line], errors


def digests(lines):
    return {re.search(r"result ([0-9a-f]{16})", line)[1] for line in lines}


class Elastic(unittest.TestCase):
    undisturbed = None

    @classmethod
    def setUpClass(cls):
        code, results, errors = Launched("1:2").end()
        assert code == 0, errors
        (cls.undisturbed,) = digests(results)

    def check(self, job, notices):
        code, results, errors = job.end()
        self.assertEqual(code, 0, errors)
        self.assertEqual(digests(results), {self.undisturbed})
        self.assertEqual(errors.count("a new worker takes its place"), notices, errors)
        return results, errors

    def test_a_killed_worker_is_replaced(self):
        job = Launched("2:4", gate=True, MDIST_LOG="info")
        job.await_lines(r"(begun)", 4)
        pids = dict(re.match(r"\[(\d)\] pid (\d+)", line).groups() for line in job.lines if "pid" in line)
        os.kill(int(pids["0"]), signal.SIGKILL)
        job.await_lines(r"(begun)", 5)
        errors = self.check(job, 1)[1]
        # Worker 0 says who is where: by its rank of now, and by the one before the launcher's lines.
        listed = re.findall(r"\[(\d)\] .*the workers of the job: (.*)", errors)
        self.assertRegex(listed[0][1], rf"worker 0 \([^)]*, pid {pids['0']}\), worker 1 \([^)]*, pid {pids['1']}\), ")
        self.assertEqual(listed[-1][0], "1")
        self.assertRegex(listed[-1][1], rf"worker 0 \([^)]*, pid {pids['1']}, started as rank 1\)")

    def replace_one_that_hangs(self, size, step, replica, limit_s):
        with tempfile.TemporaryDirectory() as folder:
            job = Launched(size, gate=True, options=("--grace", "0.5"), TEST_DIE=f"hang {step} {replica}",
                           TEST_HANG=f"{folder}/hang", MDIST_COMMUNICATION_TIMEOUT=f"{limit_s}s",
                           MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s")
            workers = int(size[-1])
            try:
                job.await_lines(r"(begun)", workers + 1)
                self.check(job, 1)
            except AssertionError as error:
                code, _, errors = job.end()
                if errors.count("does not answer") > 1 or code != 0:
                    raise Late(f"{error}: {errors}") from error
                raise

    @in_time(3)
    def test_a_worker_that_hangs_is_ended_and_replaced(self, limit_s):
        for size in ("2:2", "1:3"):  # the job cannot go on without it, or can
            self.replace_one_that_hangs(size, 50, 1, limit_s)

    @unittest.skipUnless(is_long(), "in the long tier")
    def test_a_worker_that_hangs_is_replaced_in_jobs_of_any_size(self):
        first = test_seed(1)
        for seed in range(first, first + 50):
            draw = random.Random(seed)
            most = 2 + seed % 7
            size, step, replica = f"{draw.randint(1, most)}:{most}", draw.randrange(1, 1900), draw.randrange(8)
            try_longer(f"seed {seed}: -n {size}, in step {step} of replica {replica}", 3,
                       lambda limit_s, where=(size, step, replica): self.replace_one_that_hangs(*where, limit_s))

    def early(self, size, die, options=(), once=True, **variables):
        """A job in which the worker of rank 1 dies before the first commit: the first time, or each time."""
        flag = tempfile.TemporaryDirectory()
        self.addCleanup(flag.cleanup)
        script = f'[ "$MDIST_RANK" = 1 ] && {f"mkdir {flag.name}/one" if once else "true"} 2>/dev/null && {die}; exec "$0" worker'
        return Launched(size, wrapper=("sh", "-c", script), options=options, **variables)

    def test_a_job_that_loses_a_worker_before_the_first_commit_begins_again(self):
        for die in ("export TEST_DIE='create 0 99'", "export TEST_DIE='save 0 99'"):
            with tempfile.TemporaryDirectory() as logs:
                job = self.early("2:4", die, options=["--log-dir", logs])
                code, results, errors = job.end()
                self.assertEqual((code, len(results), digests(results)), (0, 4, {self.undisturbed}), errors)
                self.assertIn("before the first commit, and so nothing else: the job begins again, time 1 of 3 at most", errors)
                self.assertTrue(pathlib.Path(logs, "rank-0.again-1.stdout").exists())

    @in_time(3)
    def test_a_job_begins_again_if_the_lost_worker_was_silent(self, limit_s):
        for size in ("2:2", "2:4"):
            job = self.early(size, "export TEST_DIE='freeze 0 99'", options=["--grace", "0.5"], MDIST_ELASTIC_WAIT="1s",
                             MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s", MDIST_COMMUNICATION_JOIN_TIMEOUT="60s")
            code, results, errors = job.end()
            if errors.count("the job begins again") > 1 or code != 0:
                raise Late(errors)
            self.assertEqual(errors.count("the job begins again"), 1, errors)
            self.assertEqual(digests(results), {self.undisturbed})

    def test_a_job_ends_well_whenever_a_worker_is_killed_at_the_beginning(self):
        first, again = test_seed(1), 0
        for seed in range(first, first + (200 if is_long() else 20)):
            draw = random.Random(seed)
            calls, size = draw.randint(1, 2 ** draw.randint(4, 11)), draw.choice(["2:4", "2:2", "1:3"])
            code, results, errors = self.early(size, f"export TEST_DIE='early {calls} 99'", MDIST_ELASTIC_WAIT="3s",
                                               MDIST_ELASTIC_COPIES="2").end()
            self.assertEqual((code, digests(results)), (0, {self.undisturbed}), f"seed {seed}: {errors}")
            again += errors.count("the job begins again")
        print(f"# {again} of them began again")

    def test_it_begins_again_at_most_so_often(self):
        code, results, errors = self.early("2:4", "export TEST_DIE='save 0 99'", once=False,
                                           MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT="1").end()
        self.assertIn(code, (128 + signal.SIGKILL, 3), errors)  # of the killed worker, or of one that missed it and ended first
        self.assertEqual(results, [])
        self.assertEqual(errors.count("the job begins again"), 1, errors)

    def test_it_does_not_begin_again_if_a_worker_ends_with_an_error(self):
        code, results, errors = self.early("2:4", "export TEST_DIE='quit 0 99'").end()
        self.assertNotEqual(code, 0)
        self.assertNotIn("begins again", errors)

    def test_the_job_goes_on_if_a_replacement_cannot_be_started(self):
        job = Launched("2:4", gate=True)
        job.await_lines(r"(begun)", 4)
        job.program.unlink()
        os.kill(int(job.await_lines(r"pid (\d+)", 4)[1]), signal.SIGKILL)
        while "no worker takes its place" not in (line := job.process.stderr.readline()):
            self.assertTrue(line)
        self.assertEqual(len(self.check(job, 0)[0]), 3)

    def test_one_after_another(self):
        job = Launched("2:4", gate=True)
        killed = []
        for number in range(3):
            job.await_lines(r"(begun)", 4 + number)  # the last newcomer has entered
            alive = [pid for pid in job.await_lines(r"pid (\d+)", 4 + number) if pid not in killed]
            killed.append(alive[-1 - number % 2])
            os.kill(int(killed[-1]), signal.SIGKILL)
            job.await_lines(r"pid (\d+)", 5 + number)
        job.await_lines(r"(begun)", 7)
        self.check(job, 3)

    def test_a_worker_that_dies_at_the_same_step_again_and_again_ends_the_job(self):
        code, results, errors = Launched("2:4", TEST_DIE="step 50 1").end()
        self.assertNotEqual(code, 0, errors)
        self.assertEqual(results, [])

    def test_a_job_whose_workers_all_die_after_a_commit_does_not_begin_again(self):
        code, results, errors = Launched("1:2", TEST_DIE="step 50 99").end()
        self.assertNotEqual(code, 0, errors)
        self.assertEqual(results, [])
        self.assertNotIn("begins again", errors)

    def test_a_worker_that_says_that_it_leaves_is_not_replaced_and_does_not_count(self):
        job = Launched("2:3", gate=True, TEST_LEAVES="1")
        job.await_lines(r"(begun)", 3)
        os.kill(int(job.await_lines(r"pid (\d+)", 3)[1]), signal.SIGTERM)
        self.assertEqual(job.await_lines(r"failed mdist_regroup: MDIST_ERR_ABORTED (\w+)", 1), ["dismissed"])
        results, errors = self.check(job, 0)
        self.assertEqual(len(results), 2)
        self.assertRegex(errors, r"rank \d leaves the job, as it has said; the job goes on without it")
        self.assertRegex(errors, r"rank \d has left the job")

    def test_a_running_job_gets_fewer_workers_and_more(self):
        name = f"resized-{os.getpid()}"

        def resize(workers, job=name):
            return subprocess.run([MDIST, "launch", "--resize", job, workers], capture_output=True, text=True, timeout=60)
        job = Launched("2:4", gate=True, job=name)
        job.await_lines(r"(begun)", 4)
        result = resize("2")
        self.assertEqual((result.returncode, result.stdout), (0, "mdist: 2 workers instead of 4\n"), result.stderr)
        self.assertEqual(job.await_lines(r"failed mdist_regroup: MDIST_ERR_ABORTED (\w+)", 2), ["dismissed"] * 2)
        self.assertEqual(resize("4").stdout, "mdist: 4 workers instead of 2\n")
        job.await_lines(r"(begun)", 6)
        for workers, words in (("1", "from 2 to 4"), ("5", "from 2 to 4")):
            result = resize(workers)
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)
        killed = int(job.await_lines(r"pid (\d+)", 6)[-1])
        os.kill(killed, signal.SIGKILL)
        job.await_lines(r"(begun)", 7)
        results, _ = self.check(job, 1)
        self.assertEqual(len(results), 4)
        for line in results:
            self.assertIn("workers 4", line)
        self.assertIn("no elastic job named", resize("2").stderr)

    def test_a_launcher_that_says_nothing_is_told_of(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as launcher:
            launcher.bind(f"\0mdist-{os.getuid()}-silent-{os.getpid()}")
            launcher.listen()
            asker = subprocess.Popen([MDIST, "launch", "--resize", f"silent-{os.getpid()}", "2"], stderr=subprocess.PIPE, text=True)
            launcher.accept()[0].close()
            self.assertRegex(asker.communicate(timeout=60)[1], "has not answered: (Connection reset by peer|Broken pipe)")

    def test_a_wrong_request_is_refused(self):
        for words in (["a", "0"], ["a", "2:3"], ["a", "many"], ["a"], ["a", "2", "true"], ["x" * 200, "2"]):
            result = subprocess.run([MDIST, "launch", "--resize", *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 2, (words, result.stderr))

    def test_an_elastic_job_needs_a_number_of_replicas(self):
        result = subprocess.run([MDIST, "launch", "-n", "2:4", "--", "true"], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("elastic.replicas", result.stderr)

    def test_what_does_not_fit_together_is_refused(self):
        for words in (["-n", "3:2"], ["-n", "0:2"], ["-n", "2:4", "--hosts", "a:3"], ["-n", "2:4", "--max-restarts", "1"]):
            result = subprocess.run([MDIST, "launch", *words, "--", "true"], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 2, (words, result.stderr))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
