// SPDX-License-Identifier: Apache-2.0
// The small training that the tests of elastic jobs disturb. It runs in a worker, and prints "begun" when the worker is
// in the job, "lost: ..." for each loss, "on DEVICES" and "result HASH generation N workers N" at the end. Variables of
// the environment:
//   TEST_STEPS       how many steps, 24 unless told
//   TEST_DIE         "step 5 0": kills itself in step 5 of replica 0 (99: of any); also "save 6 0", "restore 0 0".
//                    "hold 5 0": stops there, to be killed. "fail 6 4": lives, but cannot save replica 4's blob once.
//                    "ship 0 99": as it begins to send others what they lack of a commit. "hang 5 0": lives, but the
//                    step does not return before there is the file TEST_HANG.over. One worker does so; it writes its
//                    pid to the file TEST_HANG. The others go on
//   TEST_WANTED      waits for newcomers while the job has fewer workers than this
//   TEST_GATE        a file without which the job does not end
//   TEST_PID         prints "pid N" first
//   TEST_FUNCTION    takes input from a function: "by replica", or "by worker", which is a mistake
//   TEST_NO_REGROUP  goes on after a commit that failed, without mdist_regroup
//   TEST_GRADIENTS   sums by gradients instead of an all-reduce; "lent": in memory of the program
//   TEST_OLD_HANDLES uses a group of an old generation after the first loss, and then prints "result refused"
//   TEST_MIRRORED    has no state that belongs to one replica
//   TEST_STAYS       closes its output after an mdist_regroup that failed, and waits to be killed
//   TEST_STRANGER    what a newcomer creates otherwise than the others: "blob", "shape" or "dataset"
#pragma once

#include <stdint.h>

/// Returns the exit status of the worker.
int elastic_training(void);
