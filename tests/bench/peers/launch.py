# SPDX-License-Identifier: Apache-2.0
"""Launch: starts a contestant's processes once, on one host or several, and reads their figures."""
import dataclasses
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

LINE = re.compile(r"bytes=(\d+) ns=([\d.]+) samples=\d+ wrong=(\d+)")
SKIPPED = 77


class Skipped(Exception):
    """A contestant cannot take part here; the message says why."""


class Failed(Exception):
    """A contestant failed."""


class TooLong(Failed):
    pass


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the workers run: all on this machine, or on hosts of tests/support/hosts.sh, some on each."""
    workers: int
    between_hosts: bool
    per_host: int = 1

    @property
    def host_count(self):
        return self.workers // self.per_host if self.between_hosts else 1

    @property
    def name(self):
        if not self.between_hosts:
            return f"{self.workers} workers, one host"
        each = "a worker each" if self.per_host == 1 else f"{self.per_host} workers each"
        return f"{self.host_count} hosts, {each}"

    def host_of(self, rank):
        """Returns the number of its host, from 1 on. Ranks of one host follow each other."""
        return rank // self.per_host + 1

    def address(self, rank):
        return f"10.78.0.{self.host_of(rank)}" if self.between_hosts else "127.0.0.1"

    def start(self, rank):
        """Returns the beginning of a command line that runs there."""
        return ["on_host", str(self.host_of(rank))] if self.between_hosts else []

    def hosts(self):
        """Returns them as mpirun wants them."""
        slots = f":{self.per_host}" if self.per_host > 1 else ""
        return ",".join(f"host{host}{slots}" for host in range(1, self.host_count + 1))


def host_places(text):
    """Returns the places that a list like "2,4x2" names: 2 hosts of a worker each, 4 hosts of 2 workers each."""
    places = []
    for word in text.split(","):
        if not word:
            continue
        match = re.fullmatch(r"([1-9]\d*)(?:x([1-9]\d*))?", word)
        if match is None:
            sys.exit(f"--hosts {word}: must be a number of hosts, or like 2x4: 2 hosts of 4 workers")
        hosts, each = int(match[1]), int(match[2] or 1)
        places.append(Place(hosts * each, True, each))
    return places


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "?")
    return f"{model}, {len(os.sched_getaffinity(0))} CPUs usable, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def clean_environment():
    """Returns this environment without the variables that would affect the contestants."""
    reaching = ("MDIST_", "PEER_", "OMPI_", "MALLOC_", "TF_CONFIG", "UCX_", "GLOO_", "MPIR_", "I_MPI_", "PRTE_",
                "PMIX_")
    return {name: value for name, value in os.environ.items() if not name.startswith(reaching)}


def end_at_sigterm():
    """SIGTERM ends this program as a failure would: what it runs is ended on the way out."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))


def end(processes):
    """Ends the processes that still run, and all that they started."""
    for patience, number in ((5, signal.SIGTERM), (5, signal.SIGKILL)):
        deadline = time.monotonic() + patience
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, number)
        for process in processes:
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                pass


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip(" -\t")]
    return lines[-1] if lines else "it said nothing"


def said_by(commands, limit):
    """Runs the processes (arguments, variables) at the same time. Returns what they printed."""
    environment = clean_environment()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        processes = []
        try:
            for arguments, variables in commands:
                processes.append(subprocess.Popen(arguments, env={**environment, **variables}, stdout=output,
                                                  stderr=complaints, stdin=subprocess.DEVNULL,
                                                  start_new_session=True))
            deadline = time.monotonic() + limit
            for process in processes:
                process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            raise TooLong(f"not done after {limit:.0f} s") from None
        finally:
            end(processes)
        output.seek(0)
        complaints.seek(0)
        said, complaint = output.read(), last_line(complaints.read())
    codes = {process.returncode for process in processes}
    if SKIPPED in codes:
        raise Skipped(complaint)
    if codes != {0}:
        raise Failed(f"status {max(codes)}: {complaint}")
    return said


def launch(commands, limit):
    """The same. Returns {bytes: ns} as rank 0 printed it."""
    return {int(size): float(ns) for size, ns, _ in LINE.findall(said_by(commands, limit))}
