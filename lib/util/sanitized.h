// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer watches memory: what is kept for later use hides from it who uses memory that was given back.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) // gcc's
#define MDIST_SANITIZED 1
#elif defined(__has_feature) // clang's
#define MDIST_SANITIZED \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer))
#else
#define MDIST_SANITIZED 0
#endif
