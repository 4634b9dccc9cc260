# SPDX-License-Identifier: Apache-2.0
# Installs packages and configures builds, for examples/quickstart, tests/run and .ci/run. They source it from the
# project's root with `set -euo pipefail`. Packages come from Debian by apt-get; builds are folders of Meson. Whatever
# exists already is left alone, so that a second run is quick. Messages go to stderr; stdout is the calling script's.

build_packages=(g++ gcc meson ninja-build pkg-config libcli11-dev libsodium-dev libyaml-dev nlohmann-json3-dev zlib1g-dev)
example_packages=(libopenblas-dev dataset-fashion-mnist)
test_packages=(abigail-tools cmake libcmocka-dev clang python3 iproute2 nftables mold)
slurm_packages=(munge slurm-client slurmctld slurmd)
ffi_packages=(rustc cargo bindgen golang-go python3-numpy libdlpack-dev)

say() { printf '== %s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# install_packages WHY PACKAGE...: installs the packages that are missing.
install_packages() {
    local why=$1 missing=() have package
    shift
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        die "this is not a Debian system (no dpkg-query or no apt-get). Install what these Debian packages contain, and" \
            "build by hand (meson setup build && ninja -C build): $*"
    fi
    # dpkg-query fails if one package is unknown. It still prints the others, so its exit status is ignored.
    have=" $(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p' | tr '\n' ' ' || true)"
    for package in "$@"; do
        [[ $have == *" $package "* ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "installing packages takes root. As root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing $why from Debian: ${missing[*]}"
    local log apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
    log=$(mktemp) || die "no temporary file can be made in ${TMPDIR:-/tmp}: free some room there, or set TMPDIR"
    "${as_root[@]}" true || die "sudo did not let you in. As root: apt-get install ${missing[*]}"
    update_package_lists "$log" "${apt[@]}" || die "no package server answers apt-get ($(first_word "$log"))." \
        "Connect this machine or set apt's proxy, or install by other means, and try again: ${missing[*]}"
    "${apt[@]}" -o Acquire::Retries=3 install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 </dev/null || {
        tail -n 5 "$log" >&2
        die "apt-get could not install: ${missing[*]} ($(first_word "$log"))"
    }
    rm -f "$log"
}

# first_word LOG: the first error or warning of apt-get, which tells more than the last.
first_word() { (sed -n 's/^[EW]: *//p' "$1" && echo 'it says nothing') | head -n 1; }

# update_package_lists LOG APT...: fails if no server answers; a server that fails beside others does not matter. Says so
# when none has answered for 9 s, and gives up after a minute.
update_package_lists() {
    local log=$1 began=$SECONDS told=0 updating
    shift
    answered() { grep -qE '^(Get|Hit):' "$log"; }
    "$@" -o Acquire::Retries=0 update >"$log" 2>&1 </dev/null &
    updating=$!
    while kill -0 "$updating" 2>/dev/null && ! answered && ((SECONDS - began < 60)); do
        if ((!told && SECONDS - began >= 9)); then
            say "no package server has answered in 9 s: is this machine connected? Does apt need a proxy? Waiting for a minute"
            told=1
        fi
        sleep 0.2
    done
    # Behind sudo it may not be ours to end: then nobody waits for it.
    answered || { kill "$updating" 2>/dev/null; return 1; }
    wait "$updating" || true
}

# room_for FOLDER MEGABYTES: ends the script if the folder, or what it would be made in, cannot be written to or has less
# room than that.
room_for() {
    local at free
    at=$(realpath -m -- "$1")
    while [[ ! -e $at ]]; do at=$(dirname "$at"); done
    [[ -d $at && -w $at ]] || die "$at cannot be written to: choose another place by --build DIR"
    free=$(($(df -Pk -- "$at" | awk 'NR == 2 {print $4}') / 1024))
    ((free >= $2)) || die "$at has $free MB left, and this takes $2 MB: free some, or choose another place by --build DIR"
}

# install_sanitizers: clang's own, which Debian keeps in a package named after clang's version.
install_sanitizers() {
    local version
    version=$(clang -dumpversion)
    install_packages "clang's sanitizers" "libclang-rt-${version%%.*}-dev"
}

# install_libcxx: clang's C++ library, for CXX='clang++ -stdlib=libc++'.
install_libcxx() { install_packages "clang's C++ library" libc++-dev libc++abi-dev; }

# build_is_usable FOLDER: tells whether it is a complete build folder of this checkout that this Meson can still read.
build_is_usable() {
    [[ -f $1/build.ninja && -f $1/meson-info/meson-info.json ]] &&
        grep -qF "\"source\": \"$PWD\"" "$1/meson-info/meson-info.json" &&
        meson introspect --buildoptions "$1" >/dev/null 2>&1
}

# reset_build FOLDER: removes it, if it can only be a build folder.
reset_build() {
    [[ -e $1 ]] || return 0
    if [[ -d $1/meson-private || -d $1/meson-info || -z $(ls -A "$1") ]]; then
        say "$1 is not a usable build folder of this checkout; setting it up again"
        rm -rf -- "$1"
    else
        die "$1 is in the way and does not look like a build folder; remove it or choose another"
    fi
}

# set_up_build FOLDER ARGUMENT...: configures it with these arguments of `meson setup`, unless it already is. What others
# asked for before, and these do not name, stays. Compilers and linker, which Meson cannot change in place, and all
# arguments so far are kept beside it.
set_up_build() {
    local folder=$1 compilers="${CC:-} ${CXX:-} ${CC_LD:-}" kept=('  ') argument all new=0
    shift
    [[ ! -f $folder/.configured ]] || mapfile -t kept <"$folder/.configured"
    all=("$compilers" "$@")
    if [[ ${kept[0]} == "$compilers" ]] && build_is_usable "$folder"; then
        for argument; do
            [[ $(printf '\n%s' "${kept[@]}")$'\n' == *$'\n'"$argument"$'\n'* ]] || new=1
        done
        ((new)) || return 0
        for argument in "${kept[@]:1}"; do
            [[ $(printf '\n%s' "$@") == *$'\n'"${argument%%=*}="* ]] || all+=("$argument")
        done
        say "configuring $folder again"
        if meson setup --reconfigure "$folder" "$@" >&2 </dev/null; then
            printf '%s\n' "${all[@]}" >"$folder/.configured"
            return 0
        fi
        all=("$compilers" "$@")
    fi
    reset_build "$folder"
    say "configuring $folder"
    meson setup "$folder" "$@" >&2 </dev/null || die "meson could not configure $folder (its messages are above)"
    printf '%s\n' "${all[@]}" >"$folder/.configured"
}

# installed_targets FOLDER: what `meson install` takes from this build folder, as targets of Ninja.
installed_targets() {
    python3 - "$(realpath -- "$1")" <<'END'
import json, os, sys
for target in json.load(open(sys.argv[1] + '/meson-info/intro-targets.json')):
    if target['installed']:
        print(*(os.path.relpath(path, sys.argv[1]) for path in target['filename']), sep='\n')
END
}
