# SPDX-License-Identifier: Apache-2.0
# A recipe for BinaryBuilder, which makes libmdist_jll for Julia's registry from a release's tar of sources:
#
#   julia build_tarballs.jl VERSION SHA256 [OPTION...]
#
# SHA256 is that of libmdist-VERSION.tar.gz. Nobody has run it yet: it takes BinaryBuilder and the registry.
using BinaryBuilder

version = VersionNumber(popfirst!(ARGS))
sources = [ArchiveSource("https://example.org/libmdist/releases/$version/libmdist-$version.tar.gz", popfirst!(ARGS))]

# The tool is left out: the package needs the library alone.
script = raw"""
cd ${WORKSPACE}/srcdir/libmdist-*
meson setup build --cross-file="${MESON_TARGET_TOOLCHAIN}" --prefix="${prefix}" --libdir=lib --buildtype=release \
    -Dtests=disabled -Dexamples=disabled -Dffi=disabled -Dgpu=disabled -Dtool=disabled
ninja -C build -j${nproc}
meson install -C build --no-rebuild --tags runtime,devel
install_license LICENSE
"""

platforms = expand_cxxstring_abis([Platform("x86_64", "linux"; libc = "glibc")])
products = [LibraryProduct("libmdist", :libmdist)]
dependencies = [
    BuildDependency("nlohmann_json_jll"), Dependency("CompilerSupportLibraries_jll"),
    Dependency("LibYAML_jll"), Dependency("Zlib_jll"), Dependency("libsodium_jll"),
]

build_tarballs(ARGS, "libmdist", version, sources, script, platforms, products, dependencies;
               julia_compat = "1.6", preferred_gcc_version = v"12")
