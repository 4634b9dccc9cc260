#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts are cut off during collectives. Usage: losses_test.py MULTI_LOSSES, in hosts.sh"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from time_limits import LONG_ENOUGH_S, PATIENCE_S, Late, await_that, in_time  # noqa: E402
from workers import start_job  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
HOSTS = 3
FIRST_S = 2  # heartbeat timeout of the first try, where it must expire
STORE_PORT = "7000"
WAS_LATE = 4  # how a worker ends that met what the lateness of another explains (multi/multi.c)
CONTROL, DATA = 0, 1  # connections of two workers, by the bytes that they have carried


def start(scenario, victim, hosts=HOSTS, per_host=1, limit_s=LONG_ENOUGH_S, **variables):
    return start_job([1 + rank // per_host for rank in range(hosts * per_host)], PROGRAM, "--worker", scenario,
                     store=f"10.78.0.1:{STORE_PORT}", MDIST_COMMUNICATION_TIMEOUT="60s",
                     MDIST_COMMUNICATION_JOIN_TIMEOUT="90s", MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s",
                     TEST_VICTIM=str(victim), TEST_SEED="1", **variables)


def start_and_join(scenario, victim, limit_s=LONG_ENOUGH_S):
    """Starts a worker on each host. Returns when all have joined."""
    workers = start(scenario, victim, limit_s=limit_s, **({"TEST_LIMITED": "1"} if limit_s < LONG_ENOUGH_S else {}))
    for worker in workers:
        if worker.stdout.readline() == "joined\n":
            continue
        ends = [each.communicate(timeout=PATIENCE_S) for each in workers]
        raise Late(ends) if worker.returncode == WAS_LATE else AssertionError(ends)
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


def repeats(rank, peer):
    """Returns how often TCP has now sent something again, which the peer does not confirm."""
    listing = subprocess.run(["on_host", str(rank + 1), "ss", "-tinHO", "state", "established", "dst", f"10.78.0.{peer + 1}"],
                             check=True, capture_output=True, text=True).stdout
    return max([int(count) for count in re.findall(r"backoff:(\d+)", listing)], default=0)


def reset(rank, own_port, port):
    """Closes a connection. Returns whether the kernel did it."""
    return subprocess.run(["on_host", str(rank + 1), "ss", "-KtnH", "sport", "=", own_port, "dport", "=", port],
                          check=True, capture_output=True, text=True).stdout != ""


class Losses(unittest.TestCase):
    def await_all(self, workers, killed=None):
        """Returns the last output of each worker."""
        try:
            said = [worker.communicate(timeout=PATIENCE_S) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
        late = None
        for rank, (worker, (out, err)) in enumerate(zip(workers, said)):
            print(f"worker {rank}: {out.strip()}")
            wanted = -signal.SIGKILL if rank == killed else 0
            if worker.returncode == WAS_LATE:
                late = Late(f"worker {rank}: {out}{err}")
            else:
                self.assertEqual(worker.returncode, wanted, f"worker {rank}: {out}{err}")
        if late:
            raise late
        return [out for out, _ in said]

    def break_connection(self, one, other, which):
        """Closes a connection of two workers. All workers must name one of the two: each of them blames the other."""
        workers = start_and_join("one_connection_breaks", 0)
        try:
            found = connections(one, other)
            while len(found) != 2 or found[DATA][0] < 1000000:  # until it is clear which connection carries what
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

    @in_time(FIRST_S)
    def test_a_host_whose_cable_is_pulled(self, limit_s):
        self.cut(limit_s, 2, "-n", "host3", "link", "set", "eth0")

    @in_time(FIRST_S)
    def test_a_host_that_the_network_has_lost(self, limit_s):
        self.cut(limit_s, 1, "link", "set", "port2")

    @in_time(FIRST_S)
    def test_the_host_of_the_store(self, limit_s):
        self.cut(limit_s, 0, "link", "set", "port1")

    @in_time(FIRST_S)
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

    @in_time(5 * FIRST_S)
    def test_a_short_cut_is_no_failure(self, limit_s):
        port = ("link", "set", "port2")
        workers = start_and_join("one_is_cut_off_for_a_while", 1, limit_s)
        try:
            cable(port, "down")
            await_that(lambda: repeats(0, 1) > 1, "what is sent to the host is sent again")
        finally:
            cable(port, "up")
        self.await_all(workers)

    def test_a_worker_killed_among_several_of_its_host(self):
        for victim, moment in ((1, 50), (2, 500), (3, 2000)):
            self.await_all(start("one_dies", victim, hosts=2, per_host=2, TEST_SIGNAL=str(int(signal.SIGKILL)),
                                 TEST_MOMENT=str(moment)), killed=victim)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
