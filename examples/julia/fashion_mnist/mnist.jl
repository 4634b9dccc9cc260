# SPDX-License-Identifier: Apache-2.0
# Mnist: reads images and labels from the gzipped IDX files of MNIST and similar datasets. gzip unpacks them.

const PIXELS = 28 * 28

struct MnistSet
    images::Matrix{UInt8} # (PIXELS, count), 0 is background
    labels::Vector{UInt8}
end

count_of(set::MnistSet) = length(set.labels)

# Parts of an IDX file: 0, 0, type (8: unsigned bytes), rank; each dimension, 32 bits big-endian; the bytes of items.
function read_idx(path::String, rank::Int)
    isfile(path) || error("$path: no such file (install dataset-fashion-mnist, or say where it is with --data)")
    bytes = read(`gzip -dc $path`)
    header = 4 + 4 * rank
    length(bytes) >= header || error("$path: too short for an IDX file")
    bytes[1:4] == UInt8[0, 0, 8, rank] || error("$path: not an IDX file of unsigned bytes with $rank dimensions")
    sizes = [Int(ntoh(reinterpret(UInt32, bytes[(4 * i + 1):(4 * i + 4)])[1])) for i in 1:rank]
    length(bytes) == header + prod(sizes) || error("$path: too short, or has bytes after its last item")
    return bytes[(header + 1):end], sizes
end

function load_set(folder::String, prefix::String)
    pixels, sizes = read_idx(joinpath(folder, "$prefix-images-idx3-ubyte.gz"), 3)
    labels, _ = read_idx(joinpath(folder, "$prefix-labels-idx1-ubyte.gz"), 1)
    sizes[2:3] == [28, 28] || error("$folder: images of $prefix are not 28 x 28")
    length(labels) == sizes[1] > 0 && maximum(labels) < 10 ||
        error("$folder: $prefix has $(sizes[1]) images and $(length(labels)) labels; each image needs one label below 10")
    return MnistSet(reshape(pixels, PIXELS, sizes[1]), labels)
end
