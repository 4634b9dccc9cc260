# SPDX-License-Identifier: Apache-2.0
# What tests of packages share. They source it with `set -euo pipefail`, in the project's root. They get a folder of
# their own, $work, which goes when they end.

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# check NAME COMMAND...: one test. A command of several steps is a function, which ends at the first step that fails.
# Status 77 is a skip; the last line says why. A line `time: N s` becomes part of the test's name.
check() {
    local name=$1 status=0 seconds
    shift
    (set -e && "$@") >"$work/output" 2>&1 </dev/null &
    wait $! || status=$?
    seconds=$(sed -n 's/^.*time: \([0-9]* s\)$/\1/p' "$work/output")
    case $status in
    0) passed=$((passed + 1)) && printf 'ok - %s%s\n' "$name" "${seconds:+ ($seconds)}" ;;
    77) skipped=$((skipped + 1)) && printf 'skip - %s: %s\n' "$name" "$(tail -n 1 "$work/output")" ;;
    *) failed=$((failed + 1)) && printf 'not ok - %s (status %s)\n' "$name" "$status" && tail -n 40 "$work/output" ;;
    esac
}

# skip REASON: ends a test that cannot be run here.
skip() {
    printf '%s\n' "$1"
    exit 77
}

# alone COMMAND...: runs it with nothing of this environment: no library path, no caches, no settings.
alone() { env -i HOME="$work/home" PATH=/usr/bin:/bin "$@"; }

# block README LANGUAGE: the first block of a language in a page.
block() { awk -v want="$2" '/^```/ { if (inside) exit; if ($0 == "```" want) { inside = 1; next } } inside' "$1"; }

# finish: the last line is a count. Status 0 if nothing failed.
finish() {
    printf '%d passed, %d failed' "$passed" "$failed"
    ((skipped == 0)) || printf ', %d skipped' "$skipped"
    printf '\n'
    ((failed == 0))
}
