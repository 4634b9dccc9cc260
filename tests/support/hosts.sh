#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hosts.sh: runs one command with several "hosts" on one machine. The hosts are network namespaces behind a bridge, each
# with its own name, address, /dev/shm and boot id. It works with or without root. Everything is in private namespaces
# and goes away with the command, whatever that left running.
usage='tests/support/hosts.sh [OPTION...] [--] COMMAND [ARGUMENT...]
  --hosts N    that many (default 2, at most 200)
  --rate RATE  what each link carries in each direction (default 1gbit), in the words of tc; none: as much as it can
COMMAND runs beside the hosts, at the bridge (10.78.0.254). In it:
  on_host I PROGRAM [ARGUMENT...]    runs on host I, from 1 on: "hostI", 10.78.0.I, interface eth0
  host_rsh hostI COMMAND...          the same, as ssh would: mdist launch --hosts host1:1,host2:1 --rsh host_rsh
  ip -n hostI link set eth0 down     pulls the cable; likewise up, routes, tc -n hostI qdisc ...
  $TEST_HOSTS                  how many there are
The status is that of the command; 77 (skipped), with the reason, where the kernel does not permit any of this.'
set -Eeuo pipefail
PATH=$PATH:/usr/sbin:/sbin # where ip and tc are, for users too

skip() {
    printf 'skip - %s\n' "$*" >&2
    exit 77
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 2
}

# enter_namespaces ARGUMENT...: starts this script again in its own namespaces, as their root.
enter_namespaces() {
    local private=(--net --mount --pid --fork --kill-child --mount-proc) kind why=''
    for kind in '' '--user --map-root-user'; do
        [[ -n $kind ]] || ((EUID == 0)) || continue
        # shellcheck disable=SC2086
        why=$(unshare $kind "${private[@]}" true 2>&1) && exec unshare $kind "${private[@]}" "$0" --inside "$@"
    done
    skip "no namespaces here: ${why%%$'\n'*}"
}

# shape ARGUMENT...: limits the rate of an interface. The arguments are those of tc that name the interface.
shape() {
    if [[ $rate == none ]]; then return; fi
    tc "$@" root tbf rate "$rate" burst 128kb latency 50ms
}

make_host() {
    local i=$1
    mkdir -p "/run/hosts/$i/shm"
    cat /proc/sys/kernel/random/uuid >"/run/hosts/$i/boot_id"
    printf '10.78.0.%d host%d\n' "$i" "$i" >>/run/hosts/names
    ip netns add "host$i"
    ip link add "port$i" type veth peer name eth0 netns "host$i"
    ip link set "port$i" master bridge up
    ip -n "host$i" address add "10.78.0.$i/24" dev eth0
    ip -n "host$i" link set lo up
    ip -n "host$i" link set eth0 up
    shape -n "host$i" qdisc add dev eth0
    shape qdisc add dev "port$i"
}

make_hosts() {
    local i
    mount -t tmpfs tmpfs /run
    mkdir -p /run/netns /run/hosts
    printf '127.0.0.1 localhost\n' >/run/hosts/names
    ip link set lo up
    ip link add bridge type bridge
    ip address add 10.78.0.254/24 dev bridge
    ip link set bridge up
    for ((i = 1; i <= hosts; i++)); do make_host "$i"; done
    mount --bind /run/hosts/names /etc/hosts
}

# A link that is up may still drop its first packets for a while. Even a refused connection is an answer.
wait_for_links() {
    local i
    for ((i = 1; i <= hosts; i++)); do
        python3 - "10.78.0.$i" <<'PYTHON' || skip "host$i cannot be reached"
import socket, sys, time
deadline = time.monotonic() + 20
while time.monotonic() < deadline:
    try:
        socket.create_connection((sys.argv[1], 9), timeout=0.2)
    except ConnectionRefusedError:
        sys.exit(0)
    except OSError:
        pass
sys.exit(1)
PYTHON
    done
}

hosts=2 rate=1gbit inside=''
arguments=("$@")
while (($#)); do
    case $1 in
    --inside) inside=yes ;;
    --hosts | --rate)
        (($# > 1)) || die "$1 needs a value; --help lists the options"
        declare "${1#--}=$2"
        shift
        ;;
    --help)
        printf '%s\n' "$usage"
        exit 0
        ;;
    --)
        shift
        break
        ;;
    -*) die "$1 is no option; --help lists them" ;;
    *) break ;;
    esac
    shift
done
(($#)) || die 'no command; --help shows the usage'
[[ $hosts =~ ^[1-9][0-9]{0,2}$ ]] && ((hosts <= 200)) || die "--hosts $hosts: must be from 1 to 200"
[[ $rate =~ ^[0-9]+[kmg]?bit$|^none$ ]] || die "--rate $rate: must be like 1gbit or 100mbit, or none"

for tool in unshare ip tc python3; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
[[ -n $inside ]] || enter_namespaces "${arguments[@]}"
trap 'skip "hosts cannot be made here (the reason is above): $BASH_COMMAND"' ERR
make_hosts
wait_for_links
trap - ERR
export TEST_HOSTS=$hosts
PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd):$PATH
"$@" # no exec: process 1 would ignore signals and keep zombies
