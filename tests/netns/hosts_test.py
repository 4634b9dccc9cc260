#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hosts of tests/support/hosts.sh can be reached by address and name, and share nothing else. Run by hosts.sh."""
import os
import subprocess
import sys
import unittest

HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "hosts.sh")
BYTES = 4 << 20
LIMIT = 120  # seconds; even on the busiest machine nothing takes so long, unless it hangs

# Prints where it listens. Then accepts one client and tells it how many bytes came.
SERVER = """
import socket
server = socket.create_server(("0.0.0.0", 0))
print(server.getsockname()[1], flush=True)
peer, address = server.accept()
count = 0
while block := peer.recv(1 << 16):
    count += len(block)
peer.sendall(f"{count} from {address[0]}".encode())
"""

CLIENT = """
import socket, sys
server = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=100)
server.sendall(bytes(int(sys.argv[3])))
server.shutdown(socket.SHUT_WR)
print(server.recv(100).decode())
"""

# Connects to a port at which nobody listens: prints "refused", or the error.
KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=float(sys.argv[2]))
except ConnectionRefusedError:
    print("refused")
except OSError as failure:
    print(type(failure).__name__, failure)
"""


def on_host(host, *command):
    result = subprocess.run(["on_host", str(host), *command], capture_output=True, text=True, timeout=LIMIT)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout.strip()


def transfer(server_host, client_host, address):
    with subprocess.Popen(["on_host", str(server_host), sys.executable, "-c", SERVER], stdout=subprocess.PIPE,
                          text=True) as server:
        port = server.stdout.readline().strip()
        try:
            return on_host(client_host, sys.executable, "-c", CLIENT, address, port, str(BYTES))
        finally:
            server.kill()


def knock(host, address, patience):
    return on_host(host, sys.executable, "-c", KNOCK, address, str(patience))


class Hosts(unittest.TestCase):
    def test_reach_each_other_by_address_and_by_name(self):
        self.assertEqual(transfer(1, 2, "10.78.0.1"), f"{BYTES} from 10.78.0.2")
        self.assertEqual(transfer(3, 1, "host3"), f"{BYTES} from 10.78.0.1")

    def test_do_not_share_loopback(self):
        with subprocess.Popen(["on_host", "1", sys.executable, "-c", SERVER], stdout=subprocess.PIPE,
                              text=True) as server:
            port = server.stdout.readline().strip()
            try:
                with self.assertRaisesRegex(AssertionError, "ConnectionRefused"):
                    on_host(2, sys.executable, "-c", CLIENT, "127.0.0.1", port, "1")
            finally:
                server.kill()

    def test_differ_in_name_boot_and_shared_memory(self):
        for command in (["hostname"], ["cat", "/proc/sys/kernel/random/boot_id"]):
            self.assertEqual(len({on_host(host, *command) for host in (1, 2, 3)}), 3)
            self.assertEqual(on_host(1, *command), on_host(1, *command))
        on_host(1, "touch", "/dev/shm/mine")
        self.assertEqual(on_host(1, "ls", "/dev/shm"), "mine")
        self.assertEqual(on_host(2, "ls", "/dev/shm"), "")

    def test_lose_each_other_when_the_cable_is_pulled(self):
        subprocess.run(["ip", "-n", "host3", "link", "set", "eth0", "down"], check=True)
        self.assertNotEqual(knock(1, "10.78.0.3", 0.3), "refused")
        self.assertEqual(knock(1, "10.78.0.2", 60), "refused")
        subprocess.run(["ip", "-n", "host3", "link", "set", "eth0", "up"], check=True)
        # The first packets may still be lost.
        self.assertIn("refused", (knock(1, "10.78.0.3", 5) for _ in range(5)))


class Harness(unittest.TestCase):
    def run_harness(self, *arguments):
        return subprocess.run([HARNESS, *arguments], capture_output=True, text=True, timeout=LIMIT)

    def test_status_is_the_commands(self):
        self.assertEqual(self.run_harness("--hosts", "1", "--rate", "none", "sh", "-c", "exit 5").returncode, 5)

    def test_nothing_it_started_outlives_it(self):
        mark = f"987654{os.getpid()}"
        result = self.run_harness("--hosts", "1", "sh", "-c", f"on_host 1 sleep {mark} >/dev/null 2>&1 & echo started")
        self.assertEqual(result.stdout, "started\n")
        commands = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as command:
                    commands.append(command.read().split(b"\0"))
            except OSError:
                pass  # it ended meanwhile
        self.assertNotIn([b"sleep", mark.encode(), b""], commands)

    def test_bad_words_are_refused(self):
        for arguments in ([], ["--hosts", "0", "true"], ["--rate", "1parrot", "true"], ["--frobnicate", "true"]):
            with self.subTest(arguments):
                self.assertEqual(self.run_harness(*arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
