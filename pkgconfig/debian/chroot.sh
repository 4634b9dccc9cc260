# SPDX-License-Identifier: Apache-2.0
# Clean chroots of Debian 12 and 13, by pbuilder: read by pkgconfig/debian/make and tests/packages/debian, which run as
# root in the root of the sources. The chroots are kept for the next run, in $XDG_CACHE_HOME/mdist-ci/pbuilder, packed;
# whatever happens in one goes when the command ends.

chroots=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/mdist-ci/pbuilder

# suite_of NUMBER: the name of this version of Debian.
suite_of() {
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) fail "\"$1\" is no version of Debian that packages are built for; there are 12 and 13" ;;
    esac
}

# mirror: where this machine's apt gets Debian from.
mirror() {
    # shellcheck disable=SC2016 # apt's own variable
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | grep --max-count=1 . ||
        fail 'apt knows no mirror of Debian; run apt-get update first'
}

install_chroot_tools() {
    ((EUID == 0)) || fail 'chroots take root'
    (source tests/support/setup.sh && install_packages 'what makes clean chroots' debootstrap dpkg-dev pbuilder)
}

# in_chroot NUMBER OPERATION OPTION...: an operation of pbuilder on this version's chroot.
in_chroot() {
    local number=$1 operation=$2
    shift 2
    # pbuilder reads its user's settings, too: without a home there are none.
    HOME=/nonexistent USECOLORS=no pbuilder "$operation" --configfile "$chroots/settings" \
        --basetgz "$chroots/debian$number.tgz" --aptcache "$chroots/packages$number" "$@"
}

# prepare_chroot NUMBER: makes it, or brings one that is older than a day up to date.
prepare_chroot() {
    local number=$1 operation=update options=() mirror base=$chroots/debian$1.tgz
    mkdir -p "$chroots"/{build,ccache,"packages$number"}
    # A cache for compilers, at a place that the user who builds inside (1234) can reach: CCACHEDIR is not.
    echo 'sloppiness = pch_defines,time_macros' >"$chroots/ccache/ccache.conf"
    chown -R 1234:1234 "$chroots/ccache"
    cat >"$chroots/settings" <<END
BUILDPLACE=$chroots/build
BUILDUSERID=1234
EXTRAPACKAGES=ccache
BINDMOUNTS=$chroots/ccache:/ccache
export CCACHE_DIR=/ccache
PBUILDERSATISFYDEPENDSCMD=/usr/lib/pbuilder/pbuilder-satisfydepends-apt
END
    if [[ ! -s $base ]]; then
        mirror=$(mirror)
        operation=create
        options=(--distribution "$(suite_of "$number")" --mirror "$mirror")
    elif [[ -z $(find "$base" -mtime +0) ]]; then
        return
    fi
    printf 'debian: %s the chroot of Debian %s\n' "$operation" "$number" >&2
    in_chroot "$number" "$operation" "${options[@]}" >"$chroots/log" 2>&1 || {
        tail -n 5 "$chroots/log" >&2
        fail "pbuilder could not $operation the chroot of Debian $number (the last lines of $chroots/log are above)"
    }
}
