#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packets are dropped for a while during collectives. No job is lost, and the collectives take as long as TCP needs.
Usage: outages_test.py MULTI_LOSSES, in hosts.sh with 3 hosts for each job that runs beside others. OUTAGES=2:100,10:20
says how many there are, by the heartbeat timeout in seconds."""
import os
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from time_limits import PATIENCE_S, Late, try_longer  # noqa: E402
from workers import start_job  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
PER_JOB = 3
JOBS = int(os.environ["TEST_HOSTS"]) // PER_JOB
LONG = os.environ.get("MDIST_TEST_TIER") == "long"
PLAN = os.environ.get("OUTAGES", "2:16,10:4" if LONG else f"4:{JOBS}")
SHARE = 0.75  # of the heartbeat timeout
BOUND = 0.79  # the share that a job survives by the documentation, less a round trip
WAS_LATE = 4  # how a worker ends that met what lateness explains (multi/multi.c)
# Who cannot send to whom, among the three hosts of a job.
PATTERNS = {
    "one host, both directions": [(1, 0), (1, 2), (0, 1), (2, 1)],
    "one pair, both directions": [(0, 2), (2, 0)],
    "one pair, one direction": [(1, 2)],
    "one host, one direction": [(2, 0), (2, 1)],
    "all hosts": [(a, b) for a in range(PER_JOB) for b in range(PER_JOB) if a != b],
    "the host of the store, one direction": [(0, 1), (0, 2)],
}


def drop(hosts, ways):
    """Sends their packets to a hardware address that nobody has. The sender gets no error."""
    for a, b in ways:
        subprocess.run(["ip", "-n", f"host{hosts[a]}", "neighbor", "replace", f"10.78.0.{hosts[b]}", "lladdr", "02:00:00:00:00:01",
                        "dev", "eth0", "nud", "permanent"], check=True)


def mend(hosts, ways):
    for a, b in ways:
        subprocess.run(["ip", "-n", f"host{hosts[a]}", "neighbor", "del", f"10.78.0.{hosts[b]}", "dev", "eth0"], check=True)


def start(hosts, limit_s):
    return start_job(hosts, PROGRAM, "--worker", "one_is_cut_off_for_a_while", store=f"10.78.0.{hosts[0]}:7000",
                     MDIST_COMMUNICATION_TIMEOUT="120s", MDIST_COMMUNICATION_JOIN_TIMEOUT="60s",
                     MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s", TEST_VICTIM="0", TEST_SEED="1", TEST_LIMITED="1")


def outlast(workers, seconds):
    """Returns after so many seconds, or when a worker has ended."""
    try:
        workers[0].wait(max(0, seconds))
    except subprocess.TimeoutExpired:
        pass


def outage(hosts, limit_s, ways):
    """Raises what went wrong: Late if the machine may be the reason."""
    workers = start(hosts, limit_s)
    try:
        for worker in workers:
            if worker.stdout.readline() != "joined\n":
                raise AssertionError("a worker did not join: " + worker.communicate(timeout=PATIENCE_S)[1])
        begun = time.monotonic()
        drop(hosts, ways)
        try:
            dropping = time.monotonic() - begun  # mending takes about as long
            outlast(workers, SHARE * limit_s - 2 * dropping)
            ended = [worker.poll() is not None for worker in workers]
        finally:
            mend(hosts, ways)
        lasted = time.monotonic() - begun
        said = [worker.communicate(timeout=PATIENCE_S) for worker in workers]
        wrong = "; ".join(f"worker {rank}: {out}{err}" for rank, (out, err) in enumerate(said) if out != "well\n")
        if wrong and lasted > BOUND * limit_s:
            raise Late(f"the outage lasted {lasted:.2f} s, and may end a job: {wrong}")
        if wrong and all(worker.returncode in (0, WAS_LATE) for worker in workers):
            raise Late(wrong)  # what is left of the limit was too short for the machine
        assert not wrong, wrong
        assert not all(ended), "all had ended before the outage was over"
    finally:
        for worker in workers:
            worker.kill()


def run(job, limit_s, numbers, lived, failures):
    hosts = [job * PER_JOB + i + 1 for i in range(PER_JOB)]
    while True:
        try:
            number = numbers.pop()
        except IndexError:
            return
        name, ways = list(PATTERNS.items())[number % len(PATTERNS)]
        try:
            try_longer(f"outage {number} ({name})", limit_s, lambda limit: outage(hosts, limit, ways))
            lived.append(number)
        except (AssertionError, subprocess.SubprocessError, OSError) as error:
            failures.append(error)
            print(f"not ok - outage {number} ({name}): {error}", flush=True)


def live_through(limit_s, count):
    """Returns how many jobs were lost."""
    numbers, lived, failures = list(range(count)), [], []
    threads = [threading.Thread(target=run, args=(job, limit_s, numbers, lived, failures)) for job in range(JOBS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{'not ok' if failures else 'ok'} - {len(lived)} of {len(lived) + len(failures)} jobs live through outages of "
          f"{SHARE:g} of the heartbeat timeout, which is {limit_s} s at first", flush=True)
    return len(failures)


def main():
    parts = [part.split(":") for part in PLAN.split(",")]
    return 1 if sum(live_through(int(limit_s), int(count)) for limit_s, count in parts) else 0


sys.exit(main())
