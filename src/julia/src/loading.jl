# SPDX-License-Identifier: Apache-2.0
# Which file libmdist.so.2 is. What is loaded already is found by its soname from then on, so `libmdist` stays a name in
# all calls, and loading a file first decides. (A path as the constant would be frozen into the precompiled module.)

"Names the library of a release as an artifact, which somebody may have installed. The project's tree has no such file."
const ARTIFACTS = normpath(joinpath(@__DIR__, "..", "Artifacts.toml"))

"The library in the artifact, or `nothing` if it is not installed."
function installed_artifact()
    isfile(ARTIFACTS) || return nothing
    # In Julia 1.5, artifact_hash looks into no Overrides.toml.
    meta = artifact_meta("libmdist", ARTIFACTS; pkg_uuid = Base.PkgId(@__MODULE__).uuid)
    meta === nothing && return nothing # it is for other platforms
    hash = Base.SHA1(meta["git-tree-sha1"])
    artifact_exists(hash) || return nothing
    root = artifact_path(hash)
    files = [joinpath(folder, "lib", libmdist) for folder in (root, readdir(root; join = true)...)]
    found = findfirst(isfile, files)
    return found === nothing ? nothing : files[found]
end

"Loads the file in `MDIST_LIBRARY`, or else the artifact's, or else the one that the loader finds."
function load_library()
    chosen = get(ENV, "MDIST_LIBRARY", "")
    file = isempty(chosen) ? something(installed_artifact(), libmdist) : chosen
    try
        Libdl.dlopen(file)
    catch problem
        problem isa ErrorException || rethrow()
        advice = "Install it, or set MDIST_LIBRARY to the path of $libmdist"
        if isfile(ARTIFACTS)
            advice *= ", or fetch what belongs to this package: " *
                      "`using Pkg.Artifacts; ensure_artifact_installed(\"libmdist\", $(repr(ARTIFACTS)))`"
        end
        error("cannot load libmdist: $(problem.msg)\n$advice")
    end
end
