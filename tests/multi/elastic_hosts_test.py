#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`mdist launch -n MIN:MAX --hosts`: an elastic job whose workers are started by a remote shell that runs everything
here. Usage: elastic_hosts_test.py MDIST PROGRAM, where PROGRAM is the test multi_elastic, whose training it runs."""
import os
import re
import signal
import sys

from launch_support import Case, Running, run_all

WORKER = os.path.abspath(sys.argv[2])
# As ssh does, it passes no environment. A host is out of reach while there is a file with its name.
RSH = """#!/bin/sh
host=$1
shift
[ ! -e "$(dirname "$0")/$host.out" ] || exit 255
exec env -i PATH="$PATH" sh -c "$*"
"""


class Job(Running):
    """An elastic job of four workers, which ends when the gate is open."""

    def __init__(self, case, size, *hosts, options=(), **variables):
        self.gate = case.folder / "gate"
        own = {"TEST_STEPS": "200", "TEST_PID": "1", "TEST_GATE": str(self.gate)}
        rsh = ["--rsh", case.script("rsh", RSH), "--store", "127.0.0.1:0"]
        super().__init__("-n", size, *hosts, *rsh, *(f"--env={name}={value}" for name, value in own.items()), *options, "--",
                         WORKER, "worker", env={"MDIST_ELASTIC_REPLICAS": "8", "MDIST_ELASTIC_COPIES": "2", **variables})
        self.seen = []

    def await_lines(self, pattern, count=1):
        """What the first group of the pattern matched, in so many lines of stdout."""
        found = [match[1] for line in self.seen if (match := re.search(pattern, line))]
        while len(found) < count:
            line = self.process.stdout.readline()
            assert line, f"only {len(found)} lines with {pattern}: {self.seen}\n{self.process.stderr.read()}"
            self.seen.append(line)
            if match := re.search(pattern, line):
                found.append(match[1])
        return found

    def pid(self, rank):
        """Of the last worker that was started with this rank."""
        return int([match[1] for line in self.seen if (match := re.match(rf"\[{rank}\] pid (\d+)", line))][-1])

    def finish(self):
        self.gate.touch()
        code = self.end()
        assert code == 0, self.errors
        return set(re.findall(r"result ([0-9a-f]{16})", "".join(self.seen) + self.output))


class ElasticHosts(Case):
    undisturbed = None

    def check(self, job):
        results = job.finish()
        if ElasticHosts.undisturbed is None:
            with Job(self, "1:2", "--hosts", "localhost:2") as alone:
                ElasticHosts.undisturbed = alone.finish()
        self.assertEqual(len(results), 1, job.output)
        self.assertEqual(results, ElasticHosts.undisturbed)

    def test_a_killed_worker_is_replaced_on_its_host(self):
        hosts = self.folder / "hosts"
        hosts.write_text("localhost slots=1\nalpha:2\nbeta\n")
        for named in (["--hosts", "localhost:1,alpha:2,beta:1"], ["--hostfile", str(hosts)]):
            with Job(self, "2:4", *named) as job:
                job.await_lines("(begun)", 4)
                for rank, begun in ((0, 5), (2, 6)):
                    os.kill(job.pid(rank), signal.SIGKILL)
                    job.errors_until(f"rank {rank} has ended")
                    job.await_lines("(begun)", begun)
                self.check(job)
                self.assertEqual(job.errors.count("; a new worker takes its place\n"), 2, job.errors)
            job.gate.unlink()

    def test_workers_of_a_lost_host_begin_on_another(self):
        with Job(self, "2:4", "--hosts", "alpha:2,beta:2,gamma:2") as job:
            job.await_lines("(begun)", 4)
            (self.folder / "beta.out").touch()
            for rank in (2, 3):
                os.kill(job.pid(rank), signal.SIGKILL)
            job.errors_until("Workers failed on beta again and again")
            job.await_lines("(begun)", 6)
            self.check(job)
        self.assertRegex(job.errors, "takes its place on gamma|begins on gamma")

    def test_a_host_that_was_left_out_is_tried_again(self):
        with Job(self, "2:4", "--hosts", "alpha:3,beta:1", options=["--leave-out", "0.5"]) as job:
            job.await_lines("(begun)", 4)
            (self.folder / "beta.out").touch()
            os.kill(job.pid(3), signal.SIGKILL)
            job.errors_until("Workers failed on beta again and again, so it gets none for 0.5 s")
            (self.folder / "beta.out").unlink()
            job.errors_until("rank 3 begins on beta")
            job.await_lines("(begun)", 5)
            self.check(job)

    def name(self, hosts):
        """What the command of --discover says from now on."""
        (self.folder / "next").write_text(hosts)
        (self.folder / "next").rename(self.folder / "now")

    def test_workers_follow_the_hosts_that_a_command_names(self):
        self.name("alpha:1\n")
        with Job(self, "1:4", "--discover", f"cat {self.folder}/now", MDIST_ELASTIC_WAIT="1s") as job:
            job.await_lines("(begun)", 1)
            self.name("alpha:1\nbeta slots=3\n")
            job.await_lines("(begun)", 4)
            self.name("beta:3\n# alpha:1\n")
            self.assertEqual(job.await_lines(r"^\[(\d)\].*ABORTED dismissed", 1), ["0"])
            self.name("")
            job.errors_until("names no host. The hosts stay as they were")
            self.name("beta:1\ngamma:1\n")
            job.await_lines(r"^\[(\d)\].*ABORTED dismissed", 3)
            job.await_lines("(begun)", 5)
            self.check(job)
        self.assertIn("--discover: the hosts are now beta:1, gamma:1", job.errors)
        self.assertIn("begins on gamma", job.errors)

    def test_a_command_that_fails_at_first_is_an_error(self):
        for size, command, words in (("1:2", "echo alpha; exit 3", '"echo alpha; exit 3" has failed'),
                                     ("1:2", "echo no such thing >&2; false", "has failed: no such thing"),
                                     ("1:2", "true", "names no host"), ("2", "echo alpha", "needs an elastic job"),
                                     ("1:2", "echo alpha slot=2", '--discover:1: "slot=2" is not known'),
                                     ("1:2", "echo localhost:2", "names only this host now")):
            with Running("-n", size, "--discover", command, "--", "true", env={"MDIST_ELASTIC_REPLICAS": "8"}) as job:
                self.assertEqual(job.end(), 2, job.errors)
                self.assertIn(words, job.errors)

    def test_a_job_whose_program_no_host_has_comes_to_an_end(self):
        job = Running("-n", "1:2", "--hosts", "alpha:2", "--rsh", self.script("rsh", RSH), "--store", "127.0.0.1:0", "--",
                      "/no/such/program", env={"MDIST_ELASTIC_REPLICAS": "8"})
        self.assertEqual(job.end(), 127, job.errors)

    def test_a_job_on_hosts_is_resized(self):
        name = f"hosts-{os.getpid()}"

        def resize(workers):
            with Running("--resize", name, workers) as asker:
                self.assertEqual(asker.end(), 0, asker.errors)
                return asker.output
        with Job(self, "1:4", "--hosts", "alpha:2,beta:2", options=["--job", name]) as job:
            job.await_lines("(begun)", 4)
            self.assertEqual(resize("2"), "mdist: 2 workers instead of 4\n")
            job.await_lines("ABORTED (dismissed)", 2)
            self.assertEqual(resize("4"), "mdist: 4 workers instead of 2\n")
            job.await_lines("(begun)", 6)
            self.check(job)


if __name__ == "__main__":
    run_all(__name__)
