# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/tutorial build, run and print what its pages show.

Usage: tutorial_test.py LIBRARY MDIST COMPILER...
MDIST is the tool, or "" where it is not built: then nothing is launched. Python programs run if NumPy is installed."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY, TOOL, *COMPILER = sys.argv[1:]
LIBRARY = pathlib.Path(LIBRARY).resolve()
TOOL = TOOL and pathlib.Path(TOOL).resolve()
del sys.argv[1:]
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", ROOT / "include"]
SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": ROOT / "src/python", "MDIST_LIBRARY": LIBRARY}


def block(page, language):
    """The first block of code in this language on a page."""
    return re.search(rf"^```{language}\n(.*?)^```", (ROOT / "docs/tutorial" / page).read_text(), re.S | re.M)[1]


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


class Tutorial(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        for page, name in (("2-first-program.md", "first"), ("3-training.md", "train")):
            (self.folder / f"{name}.py").write_text(block(page, "python"))
            self.build(name, block(page, "c"))

    def build(self, name, source):
        (self.folder / f"{name}.c").write_text(source)
        subprocess.run([*(COMPILER or ["cc"]), *FLAGS, self.folder / f"{name}.c", LIBRARY,
                        "-Wl,-rpath," + str(LIBRARY.parent), "-o", self.folder / name], check=True)

    def printed(self, devices, *command, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("MDIST_")}
        return subprocess.run(command, cwd=self.folder, env={**clean, **SETTINGS, "MDIST_DEVICES": devices, **variables},
                              check=True, text=True, stdout=subprocess.PIPE, timeout=100).stdout

    def launched(self, devices, *command, **variables):
        if not TOOL:
            self.skipTest("the tool is not built")
        return self.printed(devices, TOOL, "launch", "-n", "2", "--", *command, **variables)

    def assert_same_lines(self, shown, printed):
        self.assertEqual(sorted(printed.splitlines()), sorted(shown.splitlines()))

    def assert_same_line(self, shown, printed):
        self.assertTrue(all(abs(a - b) < 1e-4 for a, b in zip(numbers(shown), numbers(printed), strict=True)), printed)

    def test_the_first_program(self):
        self.assert_same_lines(block("2-first-program.md", "text"), self.printed("cpu*4", "./first"))

    def test_the_training_with_any_number_of_replicas(self):
        for count in range(1, 5):
            self.assert_same_line(block("3-training.md", "text"), self.printed(f"cpu*{count}", "./train"))

    def test_several_workers(self):
        self.assert_same_lines(block("4-several-workers.md", "text"), self.launched("cpu*2", "./first"))

    def test_the_same_bits_in_two_layouts(self):
        order = {"MDIST_DATA_ORDER": "replica"}
        launched = self.launched("cpu*2", "./train", **order)
        self.assertEqual(launched, "[0] " + self.printed("cpu*4", "./train", **order))

    def test_checkpoints_with_another_number_of_workers(self):
        first = self.launched("cpu*2", "./train", "saved")
        found = sorted(path.name for path in (self.folder / "saved").iterdir())
        self.assertEqual("\n".join(found) + "\n", block("6-checkpoint.md", "text"))
        self.assertEqual(first, "[0] " + self.printed("cpu*2", "./train", "saved"))

    def test_a_training_that_begins_again_gives_the_same_line(self):
        whole = (self.folder / "train.c").read_text()
        saves = "must(mdist_checkpoint_save(checkpoint, ++epoch, NULL, &problem));"
        self.assertIn(saves, whole)
        self.build("half", whole.replace(saves, "{ " + saves + " if (epoch == 7) exit(0); }"))
        self.assertEqual(self.printed("cpu*2", "./half", "begun"), "")
        self.assertEqual(self.printed("cpu*2", "./train", "begun"), self.printed("cpu*2", "./train"))

    def test_python(self):
        if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode != 0:
            self.skipTest("no NumPy")
        self.assert_same_lines(block("2-first-program.md", "text"), self.printed("cpu*4", sys.executable, "first.py"))
        for _ in range(2):  # then from its checkpoint
            self.assert_same_line(block("3-training.md", "text"),
                                  self.printed("cpu*2", sys.executable, "train.py", "saved"))
            found = sorted(path.name for path in (self.folder / "saved").iterdir())
            self.assertEqual("\n".join(found) + "\n", block("6-checkpoint.md", "text"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
