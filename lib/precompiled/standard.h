// SPDX-License-Identifier: Apache-2.0
// Standard: what most units include of the C++ library, read once by the compiler instead of once per unit.
//
// Only a compiler includes this file, ahead of each unit (Meson's cpp_pch). Each unit still names all that it uses: a build
// with -Db_pch=false does without.
#ifndef MDIST_PRECOMPILED_STANDARD_H
#define MDIST_PRECOMPILED_STANDARD_H

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#endif
