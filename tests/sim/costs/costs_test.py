# SPDX-License-Identifier: Apache-2.0
"""The simulated costs: by hand where they can be added up, and every way in every small layout. Usage: costs_test.py COSTS
SCRIPT"""
import runpy
import subprocess
import sys
import unittest

COSTS = sys.argv[1]
SCRIPT = runpy.run_path(sys.argv[2])
del sys.argv[1:]
HEADER = 64  # bytes
# What threads pay, in ns.
CONSTANTS = {"wake": 5000, "turn": 1000, "message": 2000, "byte": 1, "switch": 0, "near_message": 0, "near_byte": 0,
             "near_latency": 0, "sum_byte": 0}


def simulate(*arguments, constants=None):
    """Returns {(hosts, mates, pattern, bytes): {way: microseconds}}."""
    command = [COSTS, *arguments, "--wire", "W:10:8"]  # 10 us, 1 ns for each byte
    for name, ns in {**CONSTANTS, **(constants or {})}.items():
        command += ["--set", f"{name}={ns}"]
    cells = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        _, hosts, mates, pattern, size, way, time, _ = line.split("\t")
        cells.setdefault((int(hosts), int(mates), pattern, int(size)), {})[way] = float(time)
    return cells


class Costs(unittest.TestCase):
    def test_one_message_in_each_direction_costs_what_it_is_made_of(self):
        cells = simulate("--hosts", "2", "--per-host", "1", "--pattern", "barrier", "--bytes", "4")
        send = 1 + 2 + HEADER / 1000  # a turn, the message, its bytes
        wire = HEADER / 1000 + 10
        receive = 5 + 1 + 2 + HEADER / 1000  # awake, a turn, the message, its bytes
        self.assertAlmostEqual(cells[2, 1, "barrier", 4]["directly"], send + wire + receive, delta=0.1)

    def test_senders_share_the_port_of_a_receiver(self):
        # Threads cost nothing here. In a barrier among 9, each begins with its neighbour, so nobody waits at a port.
        free = dict.fromkeys(CONSTANTS, 0)
        cells = simulate("--hosts", "9", "--per-host", "1", "--pattern", "barrier", "--bytes", "4", constants=free)
        self.assertAlmostEqual(cells[9, 1, "barrier", 4]["directly"], 8 * HEADER / 1000 + 10, delta=0.1)
        # So few bytes are one piece. Behind their headers, all give worker 0 their partial at once. It takes 8 from the
        # wire, one after another, and gives all the result.
        cells = simulate("--hosts", "9", "--per-host", "1", "--pattern", "all-reduce", "--bytes", "256", constants=free)
        self.assertAlmostEqual(cells[9, 1, "all-reduce", 256]["split by all"],
                               (8 * HEADER + 8 * 256) / 1000 + 10 + 8 * 256 / 1000 + 10, delta=0.1)

    def test_every_way_ends_in_every_small_layout(self):
        layouts = [word for hosts in range(2, 10) for word in ("--hosts", str(hosts))]
        sizes = [word for size in (4, 1000, 70000, 3 << 20) for word in ("--bytes", str(size))]
        cells = simulate(*layouts, *sizes, "--per-host", "1", "--per-host", "3")
        self.assertEqual(len({(cell[2], way) for cell, ways in cells.items() for way in ways}), 18)
        self.assertEqual(len(cells), 8 * 2 * (4 * 4 + 1))  # four patterns of four sizes, and barriers
        for cell, times in cells.items():
            for way, time in times.items():
                self.assertGreater(time, 10, (cell, way))

    def test_what_is_not_understood_is_refused(self):
        for arguments, words in ((["--host", "2"], "--host is no option"), (["--hosts"], "has no value"),
                                 (["--set", "nothing=1"], "nothing=1 names no constant")):
            result = subprocess.run([COSTS, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)

    def test_the_rule_keeps_the_fewest_ways(self):
        cell = SCRIPT["Cell"]("W", 2, 1, "barrier", 4)
        a, b = cell, cell._replace(hosts=3)
        for cells, kept in (({a: {"x": 10, "y": 11}, b: {"x": 10, "y": 11}}, ("x",)),  # both would do: the quicker one
                            ({a: {"x": 10, "y": 20}, b: {"x": 20, "y": 10}}, ("x", "y")),
                            ({a: {"x": 10, "y": 20, "z": 11}, b: {"x": 20, "y": 10, "z": 11}}, ("z",)),
                            ({a: {"x": 10, "y": 20, "z": 12}, b: {"x": 20, "y": 10, "z": 12}}, ("x", "y")),
                            ({a: {"x": 10}, b: {"y": 10}}, ("x", "y"))):  # a way does not work everywhere
            self.assertEqual(SCRIPT["fewest"](cells)[0], kept)


if __name__ == "__main__":
    unittest.main()
