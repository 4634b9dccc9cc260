// SPDX-License-Identifier: Apache-2.0
// Converts text to numbers of letters. Also a short text to learn from.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LETTERS = 32 };

// Returns the number of a character: one for each letter (either case), space, a few signs, and one for all others.
static inline uint8_t letter_of(char character) {
    static const char signs[] = " .,;\n";
    if (character >= 'a' && character <= 'z') return (uint8_t)(character - 'a');
    if (character >= 'A' && character <= 'Z') return (uint8_t)(character - 'A');
    for (int i = 0; signs[i] != '\0'; ++i)
        if (signs[i] == character) return (uint8_t)(26 + i);
    return LETTERS - 1;
}

static const char built_in_text[] =
    "A strategy owns the devices of a worker. On each of them stands a replica, which has a copy of every variable. "
    "The step runs on all replicas at the same time, each with its own part of the batch. Where they need each other "
    "they meet: gradients are added up along one tree, so that the bits do not depend on the layout. Equal copies and "
    "equal gradients make equal copies, and nobody ever compares them.\n"
    "The last layer is the first whose gradient is known. While the layers before it are still computed, it is on its "
    "way to the other replicas already, and comes back reduced before the step has come to the first layer. Who waits "
    "for all of it only at the end has waited for almost nothing.\n"
    "A worker that dies is missed by the others, who say so instead of waiting for ever. A worker that does something "
    "else than the others is told what it does, and what they do. The small things are checked before a byte is moved, "
    "because nothing is harder to find than a number that is wrong somewhere, sometimes, on a machine far away.\n";
