#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs on several hosts: one host is lost with all of its workers, or its cable is cut. Usage: elastic_test.py
MDIST MULTI_ELASTIC, in hosts.sh with three hosts"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from time_limits import Late, in_time  # noqa: E402
from workers import elastic_place, start  # noqa: E402

MDIST, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
PATIENCE_S = 180
SIZE = 4  # two on each host


def on_host(host, *words, **more):
    return start(*words, host=host, MDIST_ELASTIC_REPLICAS="8", MDIST_ELASTIC_MIN_WORKERS="1",
                 MDIST_ELASTIC_MAX_WORKERS=str(SIZE), MDIST_ELASTIC_WAIT="60s", MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT="10",
                 MDIST_COMMUNICATION_JOIN_TIMEOUT="60s", **more)


class Elastic(unittest.TestCase):
    def start(self, die, **more):
        """A store on host 1 and the workers: ranks 0 and 1 on host 1, 2 and 3 on host 2."""
        self.store = on_host(1, MDIST, "store", "10.78.0.1:4400", "-n", f"1:{SIZE}", "--job", "hosts", **more)
        workers = []
        for rank in range(SIZE):
            own = elastic_place(rank, SIZE, "10.78.0.1:4400", "hosts")
            if die and rank >= 2:
                own["TEST_DIE"] = die
            workers.append(on_host(1 + rank // 2, PROGRAM, "worker", **own, **more))
        return workers

    def said(self, workers):
        try:
            return [worker.communicate(timeout=PATIENCE_S)[0] for worker in workers]
        finally:
            for process in (*workers, self.store):
                process.kill()
            self.store.communicate()

    def result(self, said):
        found = re.search(r"result (\w+)", said)
        if not found and re.search("ABORTED|DATA_LOSS|TIMEOUT|PEER_LOST", said):
            raise Late(said)
        self.assertIsNotNone(found, said)
        return found[1]

    def undisturbed(self, **more):
        results = {self.result(text) for text in self.said(self.start(None, **more))}
        self.assertEqual(len(results), 1)
        return results.pop()

    @in_time(3)
    def test_the_state_of_a_lost_host_is_on_the_other(self, limit_s):
        expected = self.undisturbed()
        # The store learns by their silence that they are gone.
        workers = self.start("step 7 99", MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s")
        for text in self.said(workers)[:2]:  # with one copy
            self.assertEqual(self.result(text), expected)
            if "workers 1" in text:
                raise Late(text)
            self.assertIn("workers 2", text)

    @in_time(3)
    def test_a_launcher_starts_workers_elsewhere_when_a_cable_is_cut(self, limit_s):
        expected = self.undisturbed()
        with tempfile.TemporaryDirectory() as folder:
            gate, rsh = pathlib.Path(folder, "gate"), pathlib.Path(folder, "rsh")
            rsh.write_text('#!/bin/sh\nip -n "$1" link show eth0 | grep -q "state UP" || exit 255\nexec host_rsh "$@"\n')
            rsh.chmod(0o755)
            job = start(MDIST, "launch", "-n", "2:4", "--hosts", "host1:2,host2:2,host3:2", "--rsh", str(rsh), "--grace",
                        "0.5", "--env", f"TEST_GATE={gate}", "--", PROGRAM, "worker", errors=subprocess.PIPE,
                        MDIST_ELASTIC_REPLICAS="8", MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s")
            signal.alarm(PATIENCE_S)
            try:
                begun = 0
                while begun < 6 and (line := job.stdout.readline()):
                    begun += "begun" in line
                    if "begun" in line and begun == 4:
                        subprocess.run(["ip", "-n", "host2", "link", "set", "eth0", "down"], check=True)
                gate.touch()
                said, errors = job.communicate()
            finally:
                signal.alarm(0)
                job.kill()
                subprocess.run(["ip", "-n", "host2", "link", "set", "eth0", "up"], check=True)
        if job.returncode != 0 or errors.count("does not answer") > 2:
            raise Late(said + errors)
        self.assertEqual(set(re.findall(r"result (\w+)", said)), {expected}, errors)
        self.assertIn("workers 4", said)
        self.assertIn("Workers failed on host2 again and again", errors)
        self.assertRegex(errors, "(takes its place|begins) on host3")


unittest.main(argv=sys.argv[:1])
