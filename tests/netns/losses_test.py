#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts are cut off during collectives. Usage: losses_test.py MULTI_LOSSES, in hosts.sh"""
import functools
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from host_environment import environment

PROGRAM = os.path.abspath(sys.argv[1])
HOSTS = 3
LIMIT_S = 60  # heartbeat timeout for tests in which it must not expire, even on the busiest machine
LIMITS_S = (2, 10, 30)  # for tests in which it must expire: tried one after another, until no other worker is late
PATIENCE_S = 180  # after this time, a worker hangs
STORE_PORT = "7000"
CONTROL, DATA = 1, 2  # connections of two workers, by the bytes that they have carried; first that for messages


def start(scenario, victim, hosts=HOSTS, per_host=1, limit_s=LIMIT_S, **variables):
    workers = []
    for rank in range(hosts * per_host):
        own = environment(
            MDIST_RANK=str(rank), MDIST_SIZE=str(hosts * per_host), MDIST_STORE=f"10.78.0.1:{STORE_PORT}",
            MDIST_DEVICES="cpu*1", MDIST_COMMUNICATION_TIMEOUT="60s", MDIST_COMMUNICATION_JOIN_TIMEOUT="90s",
            MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s", TEST_VICTIM=str(victim), TEST_SEED="1", **variables)
        workers.append(subprocess.Popen(["on_host", str(rank // per_host + 1), PROGRAM, "--worker", scenario], env=own,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return workers


def in_time(test):
    """Tries the test with one limit after another."""
    @functools.wraps(test)
    def tried(self):
        for limit_s in LIMITS_S:
            try:
                return test(self, limit_s)
            except AssertionError:
                if limit_s == LIMITS_S[-1]:
                    raise
                print(f"{test.__name__} did not go well with a limit of {limit_s} s")
        return None
    return tried


def start_and_join(scenario, victim, limit_s=LIMIT_S):
    """Starts a worker on each host. Returns when all have joined."""
    workers = start(scenario, victim, limit_s=limit_s)
    for worker in workers:
        assert worker.stdout.readline() == "joined\n", worker.communicate(timeout=PATIENCE_S)
    return workers


def cable(arguments, state):
    subprocess.run(["ip", *arguments, state], check=True)


def connections(rank, peer):
    """Returns the connections between two workers, sorted by the bytes that they have carried: (own port, peer's port)."""
    listing = subprocess.run(["on_host", str(rank + 1), "ss", "-tinHO", "state", "established", "dst", f"10.78.0.{peer + 1}"],
                             check=True, capture_output=True, text=True).stdout.splitlines()
    found = []
    for line in listing:
        ports = [end.rsplit(":", 1)[1] for end in line.split()[2:4]]
        if STORE_PORT not in ports:
            found.append((sum(int(count) for count in re.findall(r"bytes_(?:sent|received):(\d+)", line)), *ports))
    return sorted(found)


def reset(rank, own_port, port):
    """Closes a connection. Returns whether the kernel did it."""
    return subprocess.run(["on_host", str(rank + 1), "ss", "-KtnH", "sport", "=", own_port, "dport", "=", port],
                          check=True, capture_output=True, text=True).stdout != ""


class Losses(unittest.TestCase):
    def await_all(self, workers, killed=None):
        """Returns the last output of each worker."""
        said = []
        try:
            for rank, worker in enumerate(workers):
                out, err = worker.communicate(timeout=PATIENCE_S)
                print(f"worker {rank}: {out.strip()}")
                self.assertEqual(worker.returncode, -signal.SIGKILL if rank == killed else 0,
                                 f"worker {rank}: {out}{err}")
                said.append(out)
        finally:
            for worker in workers:
                worker.kill()
        return said

    def break_connection(self, one, other, which):
        """Closes a connection of two workers. All workers must name one of the two: each of them blames the other."""
        workers = start_and_join("one_connection_breaks", 0)
        try:
            found = connections(one, other)
            while len(found) != 3 or found[DATA][0] < 1000000:  # until it is clear which connection carries what
                found = connections(one, other)
            if not reset(one, *found[which][1:]):
                self.skipTest("this kernel resets no connections for ss -K (CONFIG_INET_DIAG_DESTROY)")
            lost = [int(said.split()[0]) for said in self.await_all(workers)]
        finally:
            for worker in workers:
                worker.kill()
        self.assertLessEqual(set(lost), {one, other})

    def test_a_control_connection_that_is_reset(self):
        self.break_connection(1, 2, which=CONTROL)
        self.break_connection(0, 2, which=CONTROL)

    def test_a_data_connection_that_is_reset(self):
        self.break_connection(1, 2, which=DATA)
        self.break_connection(2, 0, which=DATA)

    def cut(self, limit_s, victim, *arguments):
        workers = start_and_join("one_is_cut_off", victim, limit_s)
        try:
            cable(arguments, "down")
            self.await_all(workers)
        finally:
            cable(arguments, "up")

    @in_time
    def test_a_host_whose_cable_is_pulled(self, limit_s):
        self.cut(limit_s, 2, "-n", "host3", "link", "set", "eth0")

    @in_time
    def test_a_host_that_the_network_has_lost(self, limit_s):
        self.cut(limit_s, 1, "link", "set", "port2")

    @in_time
    def test_the_host_of_the_store(self, limit_s):
        self.cut(limit_s, 0, "link", "set", "port1")

    @in_time
    def test_a_stopped_worker_of_another_host(self, limit_s):
        """Stops a worker. Its kernel still accepts what is sent to it, over TCP and UDP."""
        workers = start_and_join("one_is_cut_off", 1, limit_s)
        try:
            workers[1].send_signal(signal.SIGSTOP)
            for worker in (workers[0], workers[2]):
                worker.wait(timeout=PATIENCE_S)
        finally:
            workers[1].kill()
        self.await_all(workers, killed=1)

    @in_time
    def test_a_short_cut_is_no_failure(self, limit_s):
        port = ("link", "set", "port2")
        workers = start_and_join("one_is_cut_off_for_a_while", 1, limit_s)
        try:
            cable(port, "down")
            time.sleep(limit_s / 4)  # the test shows that this pause does not matter
        finally:
            cable(port, "up")
        self.await_all(workers)

    def test_a_worker_killed_among_several_of_its_host(self):
        for victim, delay_us in ((1, 2000), (2, 30_000), (3, 100_000)):
            self.await_all(start("one_dies", victim, hosts=2, per_host=2, TEST_SIGNAL=str(int(signal.SIGKILL)),
                                 TEST_DELAY_US=str(delay_us)), killed=victim)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
