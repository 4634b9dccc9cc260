# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the parts of a release share: read by pkgconfig/release and by each pkgconfig/*/make, which it runs.
#
# A part runs in the root of a clean copy of the sources, and may change that copy's own folder, no other. It gets:
#
#   MDIST_VERSION      the version, as meson.build says it
#   MDIST_BARE         an installation of the one library for all: bin, include, lib, share
#   MDIST_DIST         where what it makes goes
#   MDIST_WORK         a folder of its own, empty, for what nobody keeps
#   SOURCE_DATE_EPOCH  the time of the commit; no other time may be in what it makes

# fail SENTENCE: ends the part.
fail() {
    printf '%s: %s\n' "${0##*pkgconfig/}" "$*" >&2
    exit 1
}

# pack_tar FOLDER FILE.tar.gz: packs a folder under its own name. The same files give the same bytes.
pack_tar() {
    tar --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u+w,go+r-w,a+X \
        --mtime="@$SOURCE_DATE_EPOCH" --directory="$(dirname "$1")" "$(basename "$1")" | gzip --no-name -9 >"$2"
}
