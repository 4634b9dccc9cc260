# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed over backend mdist: what they find with gloo, they must find here.

    suite.py PROCESSES [TEST...]

The tests are chosen as for gloo, and run over gloo first. Those that pass run over mdist. Prints a line for each that
fails there and is not listed in REFUSED, and how many passed. Status 1 if there are such failures.
"""
import os
import sys
import unittest

os.environ["BACKEND"] = "gloo"  # the module is made for a backend when it is imported
os.environ["WORLD_SIZE"] = sys.argv[1]
os.environ.setdefault("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "120")

import torch  # noqa: E402
from torch.testing._internal.distributed import distributed_test as suite  # noqa: E402

import mdist.torch  # noqa: E402, F401

# What the backend refuses: receiving from any process, and the words of monitored_barrier's failures.
REFUSED = {"test_send_recv_any_source", "test_send_recv_any_source_autograd_profiler",
           "test_send_recv_any_source_torch_profiler", "test_monitored_barrier_gloo",
           "test_monitored_barrier_gloo_rank_0_timeout", "test_monitored_barrier_gloo_subgroup"}


class Backend(str):
    """The backend's name, which the tests take for gloo's where they choose what to do."""

    def __eq__(self, other):
        return str(self) == other or other == "gloo"

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


class OneTest(suite.TestDistBackend, suite.DistributedTest._DistTestBase):
    """Forks its processes: a spawned one would import PyTorch anew, which takes longer than most tests."""

    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


def outcome(name, backend):
    """ "passed", "skipped", or what went wrong."""
    suite.BACKEND = Backend(backend)
    result = unittest.TestResult()
    OneTest(name).run(result)
    if result.skipped:
        return "skipped"
    wrong = [text for _, text in result.failures + result.errors]
    return "\n".join(wrong) or "passed"


def main():
    names = sys.argv[2:] or unittest.TestLoader().getTestCaseNames(OneTest)
    expected = [name for name in names if outcome(name, "gloo") == "passed"]
    passed, refused, failed = 0, 0, []
    for name in expected:
        found = outcome(name, "mdist")
        passed += found == "passed"
        refused += found != "passed" and name in REFUSED
        if found != "passed" and name not in REFUSED:
            failed.append(name)
            print(f"{name}: {found}", flush=True)
    print(f"{sys.argv[1]} processes: gloo passes {len(expected)} tests, mdist {passed} of them, and refuses {refused}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
