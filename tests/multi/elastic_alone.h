// SPDX-License-Identifier: Apache-2.0
// A small program for one worker of an elastic job with one replica on a GPU: it doubles weights by a graph. Prints
// "result A B C, recorded N times", or "CALL failed: MESSAGE".
#pragma once

/// Returns the exit status of the worker. Steps 0 to 2, a commit, steps 3 and 4, which are lost, and steps 3 to 5.
int elastic_alone(void);
