# SPDX-License-Identifier: Apache-2.0
"""What the tests print of themselves."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


class Lines(unittest.TestCase):
    def test_every_failure_has_a_line(self):
        tests = """if True:
            import unittest
            class Tests(unittest.TestCase):
                def test_good(self):
                    with self.subTest(i=1.5):
                        pass
                def test_parts(self):
                    for i in 1.5, 2.5, 3.5:
                        with self.subTest(i=i):
                            self.assertEqual(i, 1.5)
                def test_raising_part(self):
                    with self.subTest():
                        1 / 0
        """
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(pathlib.Path(__file__).with_name("__main__.py"), folder)
            pathlib.Path(folder, "test_some.py").write_text(tests)
            found = subprocess.run([sys.executable, folder], capture_output=True, text=True)
        lines = [line for line in found.stdout.splitlines() if "ok - " in line]
        self.assertEqual(lines, ["ok - good", "not ok - parts", "not ok - parts", "not ok - raising part"])
        self.assertEqual(found.returncode, 1)
