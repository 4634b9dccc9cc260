#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on hosts with firewalls. Usage: networks_test.py MULTI_FAILURES, in hosts.sh"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from workers import start_job  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
STORE = "10.78.0.1:7000"
PATIENCE_S = 180


# Lets others begin connections with these ports of a host only, and drops datagrams.
FIREWALL = """table inet firewall {{
    chain input {{
        type filter hook input priority 0
        iifname != lo meta l4proto udp drop
        iifname != lo tcp flags & (syn | ack) == syn tcp dport != {{ {ports} }} drop
    }}
}}
"""


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

    def run_job(self, hosts, store=STORE, **variables):
        """Runs a worker on each of these hosts. Returns what each said."""
        workers = start_job(hosts, PROGRAM, "--worker", "all_is_well", store=store, TEST_VICTIM="0",
                            MDIST_COMMUNICATION_JOIN_TIMEOUT="90s", **variables)
        try:
            said = [worker.communicate(timeout=PATIENCE_S) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
        for worker, (out, err) in zip(workers, said):
            self.assertEqual(worker.returncode, 0, out + err)
        return [out + err for out, err in said]

    def test_a_firewall_that_lets_the_ports_of_the_workers_pass(self):
        self.close_all_but("7000, 5000-5001")
        self.run_job([1, 2, 1, 2], MDIST_COMMUNICATION_PORTS="5000-5001")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
