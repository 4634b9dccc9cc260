#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts that are cut off in the midst of collectives. Usage: losses_test.py MULTI_LOSSES, in hosts.sh"""
import os
import signal
import subprocess
import sys
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
HOSTS = 3
LIMIT_S = 2  # the heartbeat's


def start(scenario, victim, hosts=HOSTS, per_host=1, **variables):
    workers = []
    for rank in range(hosts * per_host):
        environment = {
            "PATH": os.environ["PATH"], "MDIST_RANK": str(rank), "MDIST_SIZE": str(hosts * per_host),
            "MDIST_STORE": "10.78.0.1:7000", "MDIST_DEVICES": "cpu*1", "MDIST_COMMUNICATION_TIMEOUT": "60s",
            "MDIST_COMMUNICATION_JOIN_TIMEOUT": "30s", "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT": f"{LIMIT_S}s",
            "TEST_VICTIM": str(victim), "TEST_SEED": "1", **variables}
        workers.append(subprocess.Popen(["on_host", str(rank // per_host + 1), PROGRAM, "--worker", scenario], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return workers


def start_and_join(scenario, victim):
    """A worker on each host; returns when all have joined."""
    workers = start(scenario, victim)
    for worker in workers:
        assert worker.stdout.readline() == "joined\n", worker.communicate(timeout=30)
    return workers


def cable(arguments, state):
    subprocess.run(["ip", *arguments, state], check=True)


class Losses(unittest.TestCase):
    def await_all(self, workers, killed=None):
        try:
            for rank, worker in enumerate(workers):
                out, err = worker.communicate(timeout=50)
                print(f"worker {rank}: {out.strip()}")
                self.assertEqual(worker.returncode, -signal.SIGKILL if rank == killed else 0,
                                 f"worker {rank}: {out}{err}")
        finally:
            for worker in workers:
                worker.kill()

    def cut(self, victim, *arguments):
        workers = start_and_join("one_is_cut_off", victim)
        try:
            cable(arguments, "down")
            self.await_all(workers)
        finally:
            cable(arguments, "up")

    def test_a_host_whose_cable_is_pulled(self):
        self.cut(2, "-n", "host3", "link", "set", "eth0")

    def test_a_host_that_the_network_has_lost(self):
        self.cut(1, "link", "set", "port2")

    def test_the_host_of_the_store(self):
        self.cut(0, "link", "set", "port1")

    def test_a_short_cut_is_no_failure(self):
        port = ("link", "set", "port2")
        workers = start_and_join("one_is_cut_off_for_a_while", 1)
        try:
            cable(port, "down")
            time.sleep(LIMIT_S / 4)  # what is tested is that this does not matter
        finally:
            cable(port, "up")
        self.await_all(workers)

    def test_a_worker_killed_among_several_of_its_host(self):
        for victim, delay_us in ((1, 2000), (2, 30_000), (3, 100_000)):
            self.await_all(start("one_dies", victim, hosts=2, per_host=2, TEST_SIGNAL=str(int(signal.SIGKILL)),
                                 TEST_DELAY_US=str(delay_us)), killed=victim)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
