#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a build folder, and sums them up (summary.py). What Meson knows of a test is kept: command, environment,
time limit, priority, is_parallel.

runner.py BUILD [--patience FACTOR] [--suite NAME | --no-suite NAME]...

In contrast to `meson test`: tests that start many processes run fewer at a time, what took longest in the last run begins
first, a test that failed is run once more, alone, after the others, and a test that did not run has failed.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

import needed  # noqa: E402
import summary  # noqa: E402

SKIPPED = 77
WAKE = 1  # seconds: Python's main thread handles a signal when it is awake, and another thread may have been woken by it
GRACE = 5  # seconds between SIGTERM and SIGKILL
SLOTS = 3  # for each processor: many tests wait for something most of the time
MOST_AGAIN = 10  # if more programs failed than this, it was no accident
# Tests of these start several processes or hold several hosts or cards, and count twice.
CROWDED_SUITES = {'multi', 'netns', 'slurm'}
CROWDED_FOLDERS = ('/tests/multi/', '/tests/gpu/comm/', '/tests/model/model_jobs')


def weight(test):
    return 2 if CROWDED_SUITES & set(needed.suites(test)) or any(folder in test['cmd'][0] for folder in CROWDED_FOLDERS) else 1


class Durations:
    """How long each test took when it last ran in this folder, in the quick tier. An unknown one takes long, if its limit is long."""

    def __init__(self, build):
        self.path = pathlib.Path(build) / 'meson-logs/durations.json'
        try:
            self.known = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self.known = {}

    def of(self, test, unknown=None):
        return self.known.get(needed.title(test), test['timeout'] if unknown is None else unknown)

    def keep(self, results):
        if os.environ.get('MDIST_TEST_TIER') == 'long':
            return
        self.known.update({title: round(result['duration'], 2) for title, result in results.items() if result['result'] != 'ENDED'})
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(self.known, indent=0, sort_keys=True))


class Runner:
    """Runs tests in threads. `slots` is the sum of the weights of those that run at once."""

    def __init__(self, build, slots, patience=1):
        self.build, self.slots, self.patience = pathlib.Path(build).resolve(), slots, patience
        self.free, self.changed = slots, threading.Condition()
        self.processes, self.asked_to_end, self.failed = set(), False, False
        self.done = self.total = 0

    def end_at(self, *signals):
        for number in signals:
            signal.signal(number, self.end)

    def end(self, *_):
        print('== asked to end: the tests that are running, and those that have not begun, count as failed', flush=True)
        self.asked_to_end = True
        self.send_to_all(signal.SIGTERM)
        killer = threading.Timer(GRACE, self.send_to_all, [signal.SIGKILL])
        killer.daemon = True
        killer.start()

    def send_to_all(self, number):
        for process in list(self.processes):
            send(process, number)

    def run(self, tests, alone=False, may_begin=lambda test: True):
        """Runs them in this order; returns {title: result}. Left out is what may not begin when its turn comes, and all
        that has not begun when the runner is asked to end."""
        results, threads = {}, []
        self.total += len(tests)
        for test in tests:
            cost = self.slots if alone or not test['is_parallel'] else min(self.slots, weight(test))
            with self.changed:
                while not self.asked_to_end and self.free < cost:
                    self.changed.wait(WAKE)
                if self.asked_to_end:
                    break
                if not may_begin(test):
                    self.total -= 1
                    continue
                self.free -= cost
            threads.append(threading.Thread(target=self.run_one, args=(test, cost, results)))
            threads[-1].start()
        for thread in threads:
            while thread.is_alive():
                thread.join(WAKE)
        return results

    def run_one(self, test, cost, results):
        result = self.perform(test)
        with self.changed:
            results[needed.title(test)] = result
            self.failed |= result['result'] not in ('OK', 'SKIP')
            self.done += 1
            print(f'{self.done:>4}/{self.total} {needed.title(test):<45} {result["result"]:<8} {result["duration"]:7.2f} s',
                  flush=True)
            self.free += cost
            self.changed.notify_all()

    def perform(self, test):
        # Fresh memory that is not zero finds what is used before it is set: the same in each run.
        environment = {'MALLOC_PERTURB_': '165', **os.environ, **test['env']}
        start, out, err, late = time.monotonic(), b'', b'', False
        try:
            process = subprocess.Popen(test['cmd'], cwd=test['workdir'] or self.build, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            return result_of(test, 'FAIL', 127, '', f'cannot be started: {error}\n', 0)
        self.processes.add(process)
        if self.asked_to_end:
            send(process, signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=test['timeout'] * self.patience if test['timeout'] > 0 else None)
        except subprocess.TimeoutExpired:
            late = True
            out, err = end(process)
        self.processes.discard(process)
        if self.asked_to_end and process.returncode:
            said = 'ENDED'
        else:
            said = 'TIMEOUT' if late else {0: 'OK', SKIPPED: 'SKIP'}.get(process.returncode, 'FAIL')
        return result_of(test, said, process.returncode, out.decode(errors='replace'), err.decode(errors='replace'),
                         time.monotonic() - start)


def result_of(test, said, status, out, err, seconds):
    return {'command': test['cmd'], 'result': said, 'returncode': status, 'stdout': out, 'stderr': err, 'duration': seconds}


def send(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def end(process):
    """Ends a test with all that it started, and returns what it has printed."""
    send(process, signal.SIGTERM)
    try:
        return process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        send(process, signal.SIGKILL)
    try:
        return process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired as error:  # a process that left the session holds the pipes
        return error.output or b'', error.stderr or b''


def in_order(tests, durations):
    return sorted(tests, key=lambda test: (-test['priority'], -durations.of(test)))


def run_again(runner, tests, results):
    """Runs what failed once more, alone. Returns its results."""
    failed = [test for test in tests if results.get(needed.title(test), {}).get('result') in ('FAIL', 'TIMEOUT')]
    if not failed or runner.asked_to_end:
        return {}
    if len(failed) > MOST_AGAIN:
        print(f'== {len(failed)} programs failed: more than {MOST_AGAIN} are not run again')
        return {}
    print('== again, alone: ' + ', '.join(needed.title(test) for test in failed), flush=True)
    return runner.run(failed, alone=True)


def run_and_sum_up(build, tests, patience):
    durations = Durations(build)
    runner = Runner(build, SLOTS * len(os.sched_getaffinity(0)), patience)
    runner.end_at(signal.SIGTERM, signal.SIGINT)
    results = runner.run(in_order(tests, durations))
    again = run_again(runner, tests, results)
    durations.keep(results)
    return summary.sum_up(build, [needed.title(test) for test in tests], results, again)


def main(arguments):
    build, options, patience = arguments[0], arguments[1:], 1.0
    if options[:1] == ['--patience']:
        patience, options = float(options[1]), options[2:]
    return run_and_sum_up(build, needed.chosen(build, *needed.split_options(options)), patience)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
