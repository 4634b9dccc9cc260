#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on hosts with several networks, firewalls and translated addresses. Usage: networks_test.py MULTI_FAILURES, in hosts.sh"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from time_limits import Late, in_time  # noqa: E402
from workers import start  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
JOB = {"MDIST_STORE": "10.78.0.1:7000", "MDIST_DEVICES": "cpu*1", "MDIST_COMMUNICATION_JOIN_TIMEOUT": "90s", "TEST_VICTIM": "0"}
PATIENCE_S = 180


# Lets others begin connections with these ports of a host only, and drops datagrams. Other networks have no firewall.
FIREWALL = """table inet firewall {{
    chain input {{
        type filter hook input priority 0
        iifname eth0 meta l4proto udp drop
        iifname eth0 tcp flags & (syn | ack) == syn tcp dport != {{ {ports} }} drop
    }}
}}
"""

# Drops what is for the store, on its own host, too.
CLOSED_STORE = """table inet closed {
    chain input {
        type filter hook input priority 0
        tcp dport 7000 drop
    }
}
"""

# Workers that are called at port 31000 listen at 5000, where nobody else can call them.
TRANSLATION = """table inet translation {
    chain closed {
        type filter hook prerouting priority -300
        iifname != lo tcp dport 5000 tcp flags & (syn | ack) == syn drop
    }
    chain moved {
        type nat hook prerouting priority -100
        tcp dport 31000 redirect to :5000
    }
}
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def interfaces(*names):
    return {host: {"MDIST_COMMUNICATION_INTERFACE": name} for host, name in enumerate(names, 1)}


def nft(host, *words, **more):
    """Runs nft on a host, or skips the test where there is none."""
    if shutil.which("nft") is None:
        raise unittest.SkipTest("nft is not installed")
    return subprocess.run(["ip", "netns", "exec", f"host{host}", "nft", *words], capture_output=True, text=True, **more)


class Networks(unittest.TestCase):
    def filter(self, rules, *hosts):
        for host in hosts:
            if nft(host, "list", "ruleset").returncode != 0:
                self.skipTest("this kernel has no nftables")
            self.addCleanup(nft, host, "flush", "ruleset")
            made = nft(host, "-f", "-", input=rules)
            self.assertEqual(made.returncode, 0, made.stderr)

    def close_all_but(self, ports):
        self.filter(FIREWALL.format(ports=ports), 1, 2)

    def run_job(self, hosts, own=None, **variables):
        """Runs a worker on each of these hosts. `own` has variables of the workers of one host."""
        for status, said in self.ends_of(hosts, own, **variables):
            self.assertEqual(status, 0, said)

    def ends_of(self, hosts, own=None, scenario="all_is_well", **variables):
        """Returns the status of each worker, and what it said."""
        workers = []
        for rank, host in enumerate(hosts):
            settings = {**JOB, "MDIST_RANK": str(rank), "MDIST_SIZE": str(len(hosts)), **variables, **(own or {}).get(host, {})}
            workers.append(start(PROGRAM, "--worker", scenario, host=host, **settings))
        try:
            said = [worker.communicate(timeout=PATIENCE_S)[0] for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
        return [(worker.returncode, words) for worker, words in zip(workers, said)]

    def test_a_firewall_that_lets_the_ports_of_the_workers_pass(self):
        self.close_all_but("7000, 5000-5001")
        self.run_job([1, 2, 1, 2], MDIST_COMMUNICATION_PORTS="5000-5001")

    @in_time(3)
    def test_a_firewall_that_lets_only_the_store_pass_is_told_with_who_cannot_reach_whom(self, limit_s):
        self.close_all_but("7000")
        (_, first), (_, second) = self.ends_of([1, 2], MDIST_COMMUNICATION_JOIN_TIMEOUT=f"{limit_s}s")
        if not all(re.search("all workers ha(ve|d) reached the store, but", said) for said in (first, second)):
            raise Late(first + second)
        at = r"10\.78\.0\.1:\d+"
        advice = r"\. If a firewall is between them, set communication\.ports on all workers, and open these ports on their hosts"
        self.assertRegex(first, r"no connection with worker 1 \(10\.78\.0\.2, pid \d+\).*: it has not connected to this worker at "
                         + at + advice)
        self.assertRegex(second, r"no connection with worker 0 \(10\.78\.0\.1, pid \d+\).*: this worker has not connected to it at "
                         + at + ": no answer.*" + advice)

    @in_time(0.5)
    def test_the_limit_of_a_whole_call_ends_it_while_bytes_move(self, limit_s):
        ends = self.ends_of([1, 2], scenario="a_call_is_too_long", MDIST_COMMUNICATION_CALL_TIMEOUT=f"{limit_s}s")
        if any("values[0] == 1" in said for _, said in ends):  # one came so late that nothing had moved
            raise Late(ends)
        for status, said in ends:
            self.assertEqual(status, 0, said)

    def cable(self, *ends):
        """Connects the hosts by a second cable. Each end has the name of its interface and addresses."""
        (name, *_), (peer, *_) = ends
        ip("-n", "host1", "link", "add", name, "type", "veth", "peer", "name", peer, "netns", "host2")
        self.addCleanup(ip, "-n", "host1", "link", "delete", name)
        for host, (name, *addresses) in enumerate(ends, 1):
            ip("-n", f"host{host}", "link", "set", name, "addrgenmode", "none")  # no address but these
            for address in addresses:
                ip("-n", f"host{host}", "address", "add", address, "dev", name, *(["nodad"] if ":" in address else []))
            ip("-n", f"host{host}", "link", "set", name, "up")

    def test_a_second_network_carries_what_the_first_does_not(self):
        self.cable(("data0", "10.79.0.1/24"), ("data1", "10.79.0.2/24"))
        self.close_all_but("7000")
        self.run_job([1, 2, 2], own=interfaces("data0", "data1"))

    def test_a_worker_is_called_at_another_address_than_it_listens_at(self):
        self.filter(TRANSLATION, 1)
        self.run_job([1, 2], own={1: {"MDIST_COMMUNICATION_LISTEN": "0.0.0.0:5000",
                                      "MDIST_COMMUNICATION_ADDRESS": "10.78.0.1:31000"}})

    def test_two_keys_that_say_where_to_listen_are_refused(self):
        for spare, value in (("interface", "eth0"), ("ports", "5000")):
            keys = {"MDIST_COMMUNICATION_LISTEN": "10.78.0.1:5001", f"MDIST_COMMUNICATION_{spare.upper()}": value, "MDIST_SIZE": "2"}
            (status, said), = self.ends_of([1], **keys)
            self.assertNotEqual(status, 0)
            self.assertIn(f"MDIST_ERR_CONFIG, not MDIST_OK: communication.listen is 10.78.0.1:5001 (MDIST_COMMUNICATION_LISTEN) "
                          f"and communication.{spare} is {value} (", said)
            self.assertIn(f"remove communication.{spare}, since communication.listen already says where to listen", said)

    @in_time(2)
    def test_a_store_at_an_address_of_one_host_only_is_told(self, limit_s):
        (_, first), (_, second) = self.ends_of([1, 2], MDIST_STORE="127.0.0.1:7000", MDIST_COMMUNICATION_JOIN_TIMEOUT=f"{limit_s}s")
        self.assertRegex(second, r"the store at 127\.0\.0\.1:7000 \(an address of this host only\) could not be reached within")
        self.assertNotIn("of this host only", first)  # where it is served

    @in_time(2)
    def test_a_worker_that_cannot_reach_its_own_store_says_that_it_serves_it(self, limit_s):
        self.filter(CLOSED_STORE, 1)
        (_, said), = self.ends_of([1], MDIST_SIZE="2", MDIST_COMMUNICATION_JOIN_TIMEOUT=f"{limit_s}s")
        self.assertIn("the store at 10.78.0.1:7000, which this worker serves, could not be reached within", said)

    def test_a_store_that_only_some_reach_by_their_own_host_is_told(self):
        """The store listens everywhere. Worker 0 calls it by the loopback address, so worker 1 cannot call worker 0."""
        for status, said in self.ends_of([1, 2], {2: {"MDIST_STORE": "10.78.0.1:7000"}}, MDIST_STORE="0.0.0.0:7000"):
            self.assertNotEqual(status, 0)
            self.assertRegex(said, r"worker 0 listens at the loopback address 127\.0\.0\.1, worker 1 at 10\.78\.0\.2, so they cannot")

    def test_an_address_that_nobody_can_call_is_refused(self):
        (status, said), = self.ends_of([1], MDIST_SIZE="2", MDIST_COMMUNICATION_ADDRESS="0.0.0.0")
        self.assertNotEqual(status, 0)
        self.assertIn("MDIST_ERR_CONFIG, not MDIST_OK: communication.address is 0.0.0.0, which nobody can call", said)

    def test_link_local_addresses_mean_each_hosts_own_interface(self):
        self.cable(("left", "fe80::1/64"), ("right", "fe80::2/64"))
        self.run_job([1, 2, 2], own={1: {"MDIST_STORE": "[fe80::1%left]:7000"}, 2: {"MDIST_STORE": "[fe80::1%right]:7000"}})

    def test_an_interface_with_only_link_local_addresses_will_do(self):
        self.cable(("left", "fe80::1/64"), ("right", "fe80::2/64"))
        self.close_all_but("7000")
        self.run_job([1, 2, 2], own=interfaces("left", "right"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
