# SPDX-License-Identifier: Apache-2.0
"""For tests of `mdist launch`: runs a launcher in the foreground or beside the test, and prints one line per case."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from environment import environment  # noqa: E402
from time_limits import PATIENCE_S, await_that  # noqa: E402
from workers import start  # noqa: E402

MDIST = sys.argv[1]
# Prints "up", waits for the given signal, and prints that it came. Not a shell: a shell that is about to wait misses it.
HEARS = """
import signal, sys
number = getattr(signal, "SIG" + sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
print("up", flush=True)
signal.sigwait([number])
print("got", sys.argv[1])
"""


def hears(name):
    return ["--", sys.executable, "-c", HEARS, name]


def launch(*arguments, env=None, text=True, given=""):
    """Runs the launcher to its end. `given` is its stdin."""
    return subprocess.run([MDIST, "launch", *arguments], env=environment(**(env or {})), capture_output=True, text=text,
                          timeout=PATIENCE_S, input=given if text else given.encode())


def hear_all():
    """Resets ignored signals: the parent of the tests may ignore some, and a process does not get what it ignores."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A launcher that runs beside the test. Leaving the block waits for its end."""

    def __init__(self, *arguments, wrapper=(), env=None):
        self.process = start(*wrapper, MDIST, "launch", *arguments, errors=subprocess.PIPE, before=hear_all, **(env or {}))
        self.errors = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def read_until(self, text):
        """Reads bytes of its stdout as they come, up to this text. Do not mix with lines()."""
        got = b""
        signal.alarm(PATIENCE_S)
        while not got.endswith(text):
            piece = os.read(self.process.stdout.fileno(), 1)
            assert piece, f"{text!r} did not come: {got!r}"
            got += piece
        signal.alarm(0)
        return got

    def lines(self, count):
        """Returns the next lines of its stdout, sorted, since the ranks come in random order."""
        return sorted(self.process.stdout.readline().rstrip("\n") for _ in range(count))

    def errors_until(self, text):
        while text not in self.errors:
            line = self.process.stderr.readline()
            assert line, f"{text!r} did not come: {self.errors}"
            self.errors += line

    def send(self, number):
        self.process.send_signal(number)

    def send_until_end(self, number):
        """Sends it again and again, as an impatient person does."""
        while self.process.poll() is None:
            self.send(number)
            try:
                self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                pass
        return self.end()

    def end(self):
        """Waits for its end and returns its exit status. `output` and `errors` hold what it wrote."""
        self.output, errors = self.process.communicate(timeout=PATIENCE_S)
        self.errors += errors
        return self.process.returncode


def await_state(pid, states):
    """Waits until the process is in one of the states, which are letters of /proc/PID/stat."""
    stat = pathlib.Path(f"/proc/{pid}/stat")
    await_that(lambda: stat.read_text().rsplit(") ", 1)[1][0] in states, f"process {pid} in one of the states {states}")


class Lifeline:
    """A named pipe that workers hold open. at_end() returns when the last of them has gone, however it ended."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "lifeline")
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self.reader, True)

    def at_end(self):
        signal.alarm(PATIENCE_S)
        while os.read(self.reader, 4096):
            pass
        signal.alarm(0)
        os.close(self.reader)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        own = tempfile.TemporaryDirectory(prefix="mdist-launch-")
        self.addCleanup(own.cleanup)
        self.folder = pathlib.Path(own.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def assertEnds(self, result, code):
        self.assertEqual(result.returncode, code, result.stderr)


class Lines(unittest.TestResult):
    """Prints `ok - what it claims` or `not ok - ...` for each case; the summary counts these lines."""

    def line(self, result, test, reason=""):
        print(f"{result} - {test.id().split('.')[-1].removeprefix('test_').replace('_', ' ')}{reason}", flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("skip", test, ": " + reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.line("not ok", test, "\n" + self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.line("not ok", test, "\n" + self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            failed = self.failures if issubclass(error[0], test.failureException) else self.errors
            self.line("not ok", test, "\n" + failed[-1][1])


def run_all(module):
    result = Lines()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module]).run(result)
    sys.exit(not result.wasSuccessful() or not result.testsRun)
