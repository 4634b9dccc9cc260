#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# overlap.sh: computing and reducing at once, between hosts (network namespaces, each link shaped): overlap.c says what.
usage='tests/bench/overlap.sh [--build FOLDER] [--hosts N] [--rate RATE] [--] [BUCKETS KIB ROUNDS]
  --build FOLDER  of libmdist (default build)
  --hosts N       with a worker each (default 2)
  --rate RATE     of each link (default 1gbit)'
set -Eeuo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build hosts=2 rate=1gbit
while (($#)); do
    case $1 in
    --build | --hosts | --rate)
        (($# > 1)) || { printf '%s needs a value\n' "$1" >&2 && exit 2; }
        declare "${1#--}=$2"
        shift
        ;;
    --help) printf '%s\n' "$usage" && exit 0 ;;
    --) shift && break ;;
    *) break ;;
    esac
    shift
done

build=$(cd "$build" && pwd)
everywhere=$(printf 'host%d:1,' $(seq "$hosts"))
exec "$root/tests/support/hosts.sh" --hosts "$hosts" --rate "$rate" -- \
    "$build/src/mdist" launch --hosts "${everywhere%,}" --rsh host_rsh --no-prefix --env MDIST_DEVICES=cpu*1 -- \
    "$build/tests/bench/overlap" "$@"
