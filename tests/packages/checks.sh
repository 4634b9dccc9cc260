# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What the tests of packages share. They source it with `set -euo pipefail` and the folder of products in $dist. They get a
# folder of their own, $work, which goes when they end.
#
# Each check prints one line, "ok - what" or "not ok - what" with the reason.

work=$(mktemp --directory)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT # Go makes its copies of modules read-only
passed=0 failed=0 skipped=0

ok() { # WHAT
    printf 'ok - %s\n' "$1"
    passed=$((passed + 1))
}

not_ok() { # WHAT TEXT
    printf 'not ok - %s\n%s\n' "$1" "$2"
    failed=$((failed + 1))
}

skip() { # WHAT WHY
    printf 'skip - %s: %s\n' "$1" "$2"
    skipped=$((skipped + 1))
}

same() { # WHAT EXPECTED FOUND
    if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "$(printf 'expected:\n%s\nfound:\n%s' "$2" "$3")"; fi
}

passes() { # WHAT COMMAND...
    local what=$1 text start=$SECONDS
    shift
    if text=$("$@" 2>&1); then ok "$what ($((SECONDS - start)) s)"; else not_ok "$what" "$(tail -n 40 <<<"$text")"; fi
}

refuses() { # WHAT WORDS COMMAND...: the command fails, and says these words
    local what=$1 words=$2 text
    shift 2
    if text=$("$@" 2>&1); then
        not_ok "$what" "it did not fail: $(tail -n 20 <<<"$text")"
    elif [[ $text == *"$words"* ]]; then
        ok "$what, which says: $words"
    else
        not_ok "$what" "$(printf 'expected: %s\nfound: %s' "$words" "$(tail -n 40 <<<"$text")")"
    fi
}

# check WHAT COMMAND...: one check of several steps: a function, which ends at the first step that fails, or by `leave`. A
# line `time: N s` becomes part of what is printed.
check() {
    local what=$1 status=0 seconds
    shift
    (set -e && "$@") >"$work/output" 2>&1 </dev/null &
    wait $! || status=$?
    seconds=$(sed -n 's/^.*time: \([0-9]* s\)$/\1/p' "$work/output")
    case $status in
        0) ok "$what${seconds:+ ($seconds)}" ;;
        77) skip "$what" "$(tail -n 1 "$work/output")" ;;
        *) not_ok "$what (status $status)" "$(tail -n 40 "$work/output")" ;;
    esac
}

# leave REASON: ends a check that cannot be made here.
leave() {
    printf '%s\n' "$1"
    exit 77
}

# alone COMMAND...: runs it with nothing of this environment: no library path, no caches, no settings.
alone() { env -i HOME="$work/home" PATH=/usr/bin:/bin "$@"; }

# block README LANGUAGE: the first block of a language in a page.
block() { awk -v want="$2" '/^```/ { if (inside) exit; if ($0 == "```" want) { inside = 1; next } } inside' "$1"; }

# bare_library: prints the folder of an installation: MDIST_BARE, or what it unpacks of the tar among the products.
bare_library() {
    local file
    [[ -z ${MDIST_BARE:-} ]] || { echo "$MDIST_BARE" && return; }
    for file in "$dist"/libmdist-*-linux-"$(uname -m)".tar.gz; do
        [[ -f $file ]] || continue
        mkdir -p "$work/bare"
        tar -xzf "$file" -C "$work/bare" --strip-components=1
        echo "$work/bare"
        return
    done
    echo "error: $dist has no libmdist-*-linux-$(uname -m).tar.gz. Make it by pkgconfig/release, or set MDIST_BARE to" \
        'the folder of an installation' >&2
    return 1
}

# other_version FOLDER NAME: a library that says it is libmdist 0.2.9, to be loaded before the real one: FOLDER/NAME.
other_version() {
    mkdir -p "$1"
    echo 'unsigned mdist_version(void) { return 209; }' | cc -x c -shared -fPIC -o "$1/$2" -Wl,-soname,"$2" -
}

# finish: the line that tells how it went, and the status.
finish() {
    printf '%d passed, %d failed' "$passed" "$failed"
    ((skipped == 0)) || printf ', %d skipped' "$skipped"
    printf '\n'
    ((failed == 0))
}
