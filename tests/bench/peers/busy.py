# SPDX-License-Identifier: Apache-2.0
"""Busy: other processes that use the cores while something is measured."""
import contextlib
import subprocess

from launch import end

LOOP = "while :; do :; done"


@contextlib.contextmanager
def busy(count, seconds):
    """Runs that many busy processes meanwhile. They end with the block, and by themselves after `seconds`, whatever
    becomes of this program."""
    processes = []
    try:
        for _ in range(count):
            processes.append(subprocess.Popen(["timeout", "--kill-after=1", str(seconds), "sh", "-c", LOOP],
                                              stdin=subprocess.DEVNULL, start_new_session=True))
        yield processes
    finally:
        end(processes)
