# SPDX-License-Identifier: Apache-2.0
"""All tests of this folder, or those of the file named: one line for each, `ok - what it claims` or `not ok - ...` with the
reason."""
import pathlib
import sys
import unittest


class Lines(unittest.TestResult):
    def line(self, result, test, reason=""):
        print(f"{result} - {test.id().split('.')[-1].removeprefix('test_').replace('_', ' ')}{reason}", flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.line("not ok", test, "\n" + self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.line("not ok", test, "\n" + self.errors[-1][1])

    def addSkip(self, test, reason):
        self.line("skip", test, f": {reason}")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            failed = self.failures if issubclass(error[0], test.failureException) else self.errors
            self.line("not ok", test, "\n" + failed[-1][1])


found = unittest.defaultTestLoader.discover(pathlib.Path(__file__).parent, *sys.argv[1:])
result = Lines()
found.run(result)
sys.exit(not result.wasSuccessful() or not result.testsRun)
