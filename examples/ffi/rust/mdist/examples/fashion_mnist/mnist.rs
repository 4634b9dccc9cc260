// SPDX-License-Identifier: Apache-2.0
//! Images and labels from the gzipped IDX files that MNIST and its siblings come in. Everything a
//! file claims is checked; what is in memory afterwards are 28 x 28 images and labels below 10, as
//! many of the one as of the other.
use std::path::Path;
use std::process::Command;

pub const PIXELS: usize = 28 * 28;
pub const CLASSES: usize = 10;

pub struct MnistSet {
    pub images: Vec<u8>, // [count][PIXELS], 0 is background
    pub labels: Vec<u8>, // [count]
}

impl MnistSet {
    pub fn load(folder: &Path, prefix: &str) -> Result<MnistSet, String> {
        let images = read(
            &folder.join(format!("{prefix}-images-idx3-ubyte.gz")),
            &[28, 28],
        )?;
        let labels = read(&folder.join(format!("{prefix}-labels-idx1-ubyte.gz")), &[])?;
        let largest = labels.iter().copied().max().unwrap_or(0);
        if images.len() != labels.len() * PIXELS || usize::from(largest) >= CLASSES {
            return Err(format!(
                "{}: {prefix} has {} images and {} labels, the largest {largest}; there must be as many, below {CLASSES}",
                folder.display(),
                images.len() / PIXELS,
                labels.len(),
            ));
        }
        Ok(MnistSet { images, labels })
    }

    pub fn count(&self) -> usize {
        self.labels.len()
    }
}

/// The bytes of a file of items with these dimensions, unpacked by gzip.
fn read(path: &Path, item: &[u32]) -> Result<Vec<u8>, String> {
    let complain = |what: &str| format!("{}: {what}", path.display());
    // gzip would say so, too, but not where the files come from.
    std::fs::metadata(path).map_err(|error| {
        complain(&format!(
            "{error} (install dataset-fashion-mnist, or say where it is with --data)"
        ))
    })?;
    let gzip = Command::new("gzip").arg("-dc").arg(path).output();
    let gzip = gzip.map_err(|error| complain(&format!("cannot run gzip to unpack it: {error}")))?;
    if !gzip.status.success() {
        return Err(complain(&format!(
            "damaged: {}",
            String::from_utf8_lossy(&gzip.stderr).trim()
        )));
    }
    let mut bytes = gzip.stdout;
    let header = 4 + 4 * (1 + item.len());
    let size = idx_size(&bytes, item).map_err(complain)?;
    if bytes.len() != header + size {
        return Err(complain("ends early, or goes on after its last item"));
    }
    bytes.drain(..header);
    Ok(bytes)
}

/// How many bytes of items the header promises. An IDX file is: 0, 0, type (8: unsigned bytes),
/// rank; each dimension as 32 big-endian bits; the bytes.
fn idx_size(bytes: &[u8], item: &[u32]) -> Result<usize, &'static str> {
    let rank = 1 + item.len();
    if bytes.len() < 4 + 4 * rank {
        return Err("too short for an IDX file");
    }
    if bytes[..4] != [0, 0, 8, rank as u8] {
        return Err("not an IDX file of unsigned bytes with the dimensions expected here");
    }
    let dimensions = bytes[4..].chunks_exact(4).take(rank);
    let dimensions: Vec<u32> = dimensions
        .map(|at| u32::from_be_bytes([at[0], at[1], at[2], at[3]]))
        .collect();
    match dimensions[0] {
        1..=1_000_000 if dimensions[1..] == *item => Ok(dimensions
            .iter()
            .map(|&dimension| dimension as usize)
            .product()),
        1..=1_000_000 => Err("images are not 28 x 28"),
        _ => Err("holds none, or more than a million"),
    }
}
