#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Name services that do not answer, answer late, or learn a name late, while a job forms. Usage: names_test.py MULTI_FAILURES, in hosts.sh"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from time_limits import Late, in_time  # noqa: E402
from workers import start  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
HOST = b"\x0achief-host\x07example\x00"  # as a question spells it


def answer(question):
    """Returns the answer to a question: host1's address if an IPv4 address is asked for, else no address."""
    wanted = question[12:12 + len(HOST)].lower() == HOST and question[12 + len(HOST):][:2] == b"\x00\x01"
    record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04" + socket.inet_aton("10.78.0.1")
    count = b"\x00\x01" if wanted else b"\x00\x00"
    header = question[:2] + b"\x81\x80" + b"\x00\x01" + count + b"\x00\x00\x00\x00"
    return header + question[12:12 + len(HOST) + 4] + (record if wanted else b"")


def denial(question):
    """Returns the answer that there is no such name."""
    return question[:2] + b"\x81\x83" + b"\x00\x01" + bytes(6) + question[12:12 + question[12:].index(b"\x00") + 5]


class NameService:
    """Listens, and answers all questions except the first few. It may know no name at first."""

    def __init__(self, silent_for=0, knows=True):
        self.silent_for = silent_for
        self.knows = knows
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("10.78.0.254", 53))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            question, who = self.socket.recvfrom(4096)
            if not question:
                return
            self.asked += 1
            if self.asked > self.silent_for:
                self.socket.sendto(answer(question) if self.knows else denial(question), who)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", self.socket.getsockname())  # an empty question ends it
        self.thread.join(timeout=30)
        self.socket.close()


def replace(path, text, folder):
    """Replaces a file by a text, in the private mount namespace of hosts.sh."""
    source = os.path.join(folder, os.path.basename(path))
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run(["mount", "--bind", source, os.path.realpath(path)], check=True)


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for path in ("/etc/resolv.conf", "/etc/nsswitch.conf"):
            if not os.path.exists(path):
                raise unittest.SkipTest(f"no {path} to put another in the place of")
        cls.folder = tempfile.TemporaryDirectory()
        # The resolver gives up each question after a second, so the library has to ask again.
        replace("/etc/resolv.conf", "nameserver 10.78.0.254\noptions timeout:1 attempts:1\n", cls.folder.name)
        replace("/etc/nsswitch.conf", "hosts: files dns\n", cls.folder.name)

    def worker(self, rank, scenario, join_timeout, store="chief-host.example:7000", **variables):
        return start(PROGRAM, "--worker", scenario, host=rank + 1, errors=subprocess.PIPE, MDIST_RANK=str(rank), MDIST_SIZE="2",
                     MDIST_STORE=store, MDIST_DEVICES="cpu*1", MDIST_COMMUNICATION_JOIN_TIMEOUT=join_timeout, TEST_VICTIM="0", **variables)

    def await_all(self, *workers):
        for worker in workers:
            out, err = worker.communicate(timeout=180)
            self.assertEqual(worker.returncode, 0, out + err)

    def test_one_that_never_answers_is_told_before_the_resolver_gives_up(self):
        with NameService(silent_for=10**9):
            self.await_all(self.worker(1, "nobody_knows_the_store", "300ms"))

    @in_time(3)
    def test_one_that_never_answers_is_told_when_the_time_is_up(self, limit_s):
        with NameService(silent_for=10**9) as service:
            self.await_all(self.worker(1, "nobody_knows_the_store", f"{limit_s}s"))
            if service.asked == 0:
                raise Late("it did not get to ask")

    def test_one_that_answers_late_holds_nothing_up(self):
        with NameService(silent_for=4) as service:
            self.await_all(self.worker(0, "all_is_well", "90s", "10.78.0.1:7000"), self.worker(1, "all_is_well", "90s"))
            self.assertGreater(service.asked, 4)

    def test_a_name_that_appears_late_holds_nothing_up(self):
        with NameService(knows=False) as service:
            chief = self.worker(0, "all_is_well", "90s", "10.78.0.1:7000")
            other = self.worker(1, "all_is_well", "90s", MDIST_LOG_WAIT_AFTER="300ms")
            told = next((line for line in other.stderr if "this worker has waited" in line), "")
            service.knows = True
            self.await_all(chief, other)
            self.assertIn('an address of the host "chief-host.example", and asks again: ', told)
            self.assertRegex(told, r"(Name or service not known|No address associated with hostname)\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
