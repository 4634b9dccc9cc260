// SPDX-License-Identifier: Apache-2.0
// A worker of a random training that loses and gains workers. It prints "begun" when its strategy is there; "generation
// 2 rank 0 of 3" as it enters one; and at its end "result HASH", "left", or "failed CALL: STATUS REASON
// MESSAGE". Variables of the environment: TEST_SEED, and TEST_NUMBER, which worker of the plan it is.
#pragma once

/// Returns the exit status: 0; 3 if it failed; 5 if it has done on its GPUs what is forbidden, or has left something.
int regroups_worker(void);
