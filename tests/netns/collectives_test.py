#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives between hosts give the right results, started by mdist launch. Usage: collectives_test.py MDIST SUMS, in
hosts.sh"""
import json
import os
import subprocess
import sys
import unittest

MDIST, SUMS = (os.path.abspath(argument) for argument in sys.argv[1:3])
LONG = os.environ.get("MDIST_TEST_TIER") == "long"


def output_of(command, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MDIST_", "TF_CONFIG"))}
    result = subprocess.run(command, capture_output=True, text=True, env=clean | variables, timeout=180)
    assert result.returncode == 0, result.stderr
    return result.stdout


def launch(hosts, replicas_per_worker, *command):
    return output_of([MDIST, "launch", "--hosts", hosts, "--rsh", "host_rsh", "--no-prefix", "--env",
                      f"MDIST_DEVICES=cpu*{replicas_per_worker}", "--", *command])


def bench(hosts, *arguments):
    """Runs every collective and checks each result. Returns worker 0's report."""
    return json.loads(launch(hosts, 2, MDIST, "bench", "--workers", "--quick", "--json", *arguments))


class Collectives(unittest.TestCase):
    def check(self, report, workers):
        self.assertEqual((report["workers"], report["replicas"]), (workers, 2 * workers))
        self.assertEqual({row["collective"]: row["wrong"] for row in report["rows"] if row.get("wrong")}, {})
        self.assertEqual(len({row["collective"] for row in report["rows"]}), 6)

    def test_a_worker_on_each_host(self):
        self.check(bench("host1:1,host2:1,host3:1", "--max", "1MiB", "--factor", "500", "--root", "5"), 3)

    def test_several_workers_on_a_host(self):
        self.check(bench("host1:2,host2:2", "--max", "1MiB", "--factor", "500", "--memory", "library"), 4)

    def test_hosts_with_different_numbers_of_workers(self):
        self.check(bench("host1:1,host3:2", "--max", "4KiB", "--factor", "1000"), 3)

    def test_sums_have_the_bits_of_one_process(self):
        # Hosts with complete subtrees and without; the same number of workers on each host or not; interleaved ranks.
        layouts = [("host1:2,host2:2", 2), ("host1:3,host2:3", 1), ("host1:2,host2:1", 2),
                   ("host1:1,host2:1,host1:1,host2:1", 1)]
        if LONG:
            layouts += [("host1:4,host2:4", 1), ("host1:2,host2:2,host3:2", 3), ("host1:3,host2:2", 1),
                        ("host1:3,host2:3", 3)]
        for hosts, per_worker in layouts:
            workers = sum(int(host.split(":")[1]) for host in hosts.split(","))
            alone = output_of([SUMS], MDIST_DEVICES=f"cpu*{workers * per_worker}")
            self.assertEqual(launch(hosts, per_worker, SUMS), alone * workers, hosts)

    def test_sums_of_workers_with_different_numbers_of_replicas_do_too(self):
        # Split among mates first, on hosts with different numbers of workers, and on one worker each.
        for hosts, counts in (("host1:2,host2:2", "2 1 1 3"), ("host1:2,host2:1", "1 4 2"),
                              ("host1:1,host2:1,host3:1", "3 3 1"), ("host1:2,host2:2", "1 1 1 2")):
            own = f'set -- {counts}; shift "$MDIST_RANK"; MDIST_UNEVEN_REPLICAS=1 MDIST_DEVICES="cpu*$1" exec "$0"'
            numbers = [int(count) for count in counts.split()]
            alone = output_of([SUMS], MDIST_DEVICES=f"cpu*{sum(numbers)}")
            self.assertEqual(launch(hosts, 1, "sh", "-c", own, SUMS), alone * len(numbers), hosts + ": " + counts)

    @unittest.skipUnless(LONG, "the long tier")
    def test_types_and_operations(self):
        for dtypes, ops in (("float32,bfloat16,int8,uint64", "sum,min,max,prod"), ("float64,float16", "mean")):
            self.check(bench("host1:2,host2:1", "--max", "4MiB", "--factor", "70", "--dtype", dtypes, "--op", ops), 3)


if __name__ == "__main__":
    if " launch " not in subprocess.run([MDIST, "--help"], capture_output=True, text=True).stdout:
        print("skip - this mdist launches nothing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
