#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plant finds out which faults the tests see, in a copy that it leaves as it was. The faults fit the code."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FAULTS = """
import collections
Fault = collections.namedtuple("Fault", "name file found_by breaks old new")
FAULTS = [Fault("seen", "lib/text", "a", "one is 1", "one", "1"), Fault("unseen", "lib/text", "b", "two is 2", "two", "2")]
"""
BUILD = """
rule copy
  command = grep -q three $in && cp $in $out
build lib/libmdist.so.2: copy ../lib/text
"""
LOOK = "ninja -C build >&2 && grep one build/lib/libmdist.so.2"


@unittest.skipUnless(shutil.which("git"), "there is no git")
class Planting(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree, self.scratch = Path(self.folder.name, "tree"), Path(self.folder.name, "scratch")
        for name, text in (("lib/text", "one two three\n"), ("build.txt", BUILD), ("tests/campaign/faults.py", FAULTS)):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(text)
        shutil.copy(HERE / "plant", self.tree / "tests/campaign/plant")
        subprocess.run(["git", "init", "-q"], cwd=self.tree, check=True)

    def tearDown(self):
        self.folder.cleanup()

    def plant(self, *arguments):
        return subprocess.run([sys.executable, self.tree / "tests/campaign/plant", "--scratch", self.scratch, "--first",
                               "mkdir -p build/lib && cp build.txt build/build.ninja && ninja -C build", "--command", LOOK,
                               *arguments], capture_output=True, text=True, timeout=100)

    def test_each_fault_is_looked_for_alone(self):
        result = self.plant()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^seen +found ")
        self.assertRegex(result.stdout, r"(?m)^unseen +NOT FOUND ")
        self.assertEqual(result.stdout.splitlines()[-1], "1 passed, 1 failed")
        self.assertEqual((self.scratch / "lib/text").read_text(), "one two three\n")
        self.assertEqual((self.scratch / "build/lib/libmdist.so.2").read_text(), "one two three\n")
        self.assertEqual(self.plant("--only", "seen").stdout.count(".txt"), 1)

    def test_the_next_run_continues(self):
        self.assertIn("2 of 2 faults are still to be planted", self.plant("--minutes", "0").stdout)
        self.assertEqual(self.plant("--only", "seen").stdout.splitlines()[-1], "1 passed, 0 failed")
        result = self.plant()
        self.assertEqual(result.stdout.count("unseen.txt"), 1)
        self.assertNotIn("/seen.txt", result.stdout)
        (self.tree / "lib/text").write_text("one two three four\n")
        self.assertIn("/seen.txt", self.plant().stdout)  # another tree

    def test_nothing_is_planted_where_a_fault_does_not_fit(self):
        (self.tree / "lib/text").write_text("one two two three\n")
        result = self.plant()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("unseen: its text stands not exactly once in lib/text", result.stdout)
        self.assertFalse(self.scratch.exists())

    def test_a_fault_that_does_not_compile_is_not_found(self):
        (self.tree / "tests/campaign/faults.py").write_text(FAULTS.replace('"one", "1"', '"three", "3"'))
        result = self.plant()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("seen does not compile", result.stderr)
        self.assertEqual((self.scratch / "lib/text").read_text(), "one two three\n")

    def test_other_folders_are_left_alone(self):
        for folder in (self.tree, self.tree / "copy", self.tree.parent):
            result = subprocess.run([sys.executable, self.tree / "tests/campaign/plant", "--scratch", folder],
                                    capture_output=True, text=True, timeout=100)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("with --scratch", result.stderr)


class Faults(unittest.TestCase):
    def test_the_faults_fit_the_code(self):
        result = subprocess.run([sys.executable, HERE / "plant", "--list"], capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        names = [line.split()[0] for line in result.stdout.splitlines()]
        self.assertEqual((len(names), len(set(names))), (30, 30))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
