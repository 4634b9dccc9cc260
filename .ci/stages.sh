# SPDX-License-Identifier: Apache-2.0
# Runs stages and adds up what they say. Sourced by .ci/run and .ci/night, from the project's root.
#
# A stage is a command whose last line is "N passed, N failed" or "N passed, N failed, N skipped". Lines that begin with
# FLAKY name tests that failed once and passed when they ran alone.

limit=${limit:-5100} # seconds after the start at which what still runs is ended
passed=0 failed=0 skipped=0 verdicts=() failures='' flaky=''

# use_compiler_cache: later runs compile the same units with the same flags. Meson takes ccache if CC is not set.
use_compiler_cache() {
    (set -e && source tests/support/setup.sh && install_packages 'a cache for compilers' ccache) || true
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
}

# stage NAME SHOWS COMMAND...: runs the command. SHOWS is what this stage shows and no other does.
stage() {
    local name=$1 shows=$2 start=$SECONDS status=0 output last
    shift 2
    printf '\n######## %s: %s\n%s\n' "$name" "$shows" "$*"
    output=$(mktemp)
    timeout --kill-after=60 $((SECONDS < limit ? limit - SECONDS : 1)) "$@" 2>&1 | tee "$output"
    status=${PIPESTATUS[0]}
    last=$(tail -n 1 "$output")
    flaky+=$(sed -n "s/^FLAKY/$name: FLAKY/p" "$output"; echo .)
    flaky=${flaky%.}
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
        ((status == 0 || BASH_REMATCH[2] > 0)) || failed=$((failed + 1))
        ((status == 0)) || failures+=$'\n'$(awk -v stage="$name" '/^FAILED /{on = 1; $1 = stage ": FAILED"} /^[a-z]+ +[0-9]+ passed/{on = 0} on' "$output")
    else
        failed=$((failed + 1)) # it did not come as far as counting
        failures+=$'\n'$(printf '%s: ended early\n' "$name" && tail -n 30 "$output")
        last="status $status"
    fi
    rm -f "$output"
    verdicts+=("$(printf '%-24s %4d s  %s' "$name" $((SECONDS - start)) "$last")")
}

# finish: says it all again, and together: whoever reads only the end must not search for what went wrong. The last line
# sums up all stages. Status 0 if nothing failed.
finish() {
    ((failed == 0)) || printf '\n######## What failed\n%s\n' "$failures"
    [[ -z $flaky ]] || printf '\n######## What failed once, and passed alone: mend it next\n%s\n' "$flaky"
    ((SECONDS < limit)) || printf '\n######## Not through after %d s. What was running then has failed.\n' "$limit"
    printf '\n######## All stages in %d s\n' "$SECONDS"
    printf '%s\n' "${verdicts[@]}"
    printf '%d passed, %d failed' "$passed" "$failed"
    ((skipped == 0)) || printf ', %d skipped' "$skipped"
    printf '\n'
    ((failed == 0))
}
