// SPDX-License-Identifier: Apache-2.0
// Empty. lib/meson.build says what it is for.
