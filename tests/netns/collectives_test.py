#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives between hosts give what they must, started by mdist launch. Usage: collectives_test.py MDIST, in hosts.sh"""
import json
import os
import subprocess
import sys
import unittest

MDIST = os.path.abspath(sys.argv[1])
LONG = os.environ.get("MDIST_TEST_TIER") == "long"


def bench(hosts, *arguments):
    """Every collective, each result checked; worker 0's report."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MDIST_", "TF_CONFIG"))}
    result = subprocess.run(
        [MDIST, "launch", "--hosts", hosts, "--rsh", "host_rsh", "--no-prefix", "--env", "MDIST_DEVICES=cpu*2", "--",
         MDIST, "bench", "--workers", "--quick", "--json", *arguments],
        capture_output=True, text=True, env=clean, timeout=100)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class Collectives(unittest.TestCase):
    def check(self, report, workers):
        self.assertEqual((report["workers"], report["replicas"]), (workers, 2 * workers))
        self.assertEqual({row["collective"]: row["wrong"] for row in report["rows"] if row.get("wrong")}, {})
        self.assertEqual(len({row["collective"] for row in report["rows"]}), 6)

    def test_a_worker_on_each_host(self):
        self.check(bench("host1:1,host2:1,host3:1", "--max", "1MiB", "--factor", "500", "--root", "5"), 3)

    def test_several_workers_on_a_host(self):
        self.check(bench("host1:2,host2:2", "--max", "64KiB", "--factor", "100", "--memory", "library"), 4)

    def test_hosts_with_different_numbers_of_workers(self):
        self.check(bench("host1:1,host3:2", "--max", "4KiB", "--factor", "1000"), 3)

    @unittest.skipUnless(LONG, "the long tier")
    def test_types_and_operations(self):
        for dtypes, ops in (("float32,bfloat16,int8,uint64", "sum,min,max,prod"), ("float64,float16", "mean")):
            self.check(bench("host1:2,host2:1", "--max", "4MiB", "--factor", "70", "--dtype", dtypes, "--op", ops), 3)


if __name__ == "__main__":
    if " launch " not in subprocess.run([MDIST, "--help"], capture_output=True, text=True).stdout:
        print("skip - this mdist launches nothing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
