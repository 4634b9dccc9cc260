// SPDX-License-Identifier: Apache-2.0
//! Reads images and labels from the gzipped IDX files of MNIST and similar datasets. Checks every
//! number in their headers. The result has 28 x 28 images, and one label below 10 for each.
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
                "{}: {prefix} has {} images and {} labels, the largest {largest}; each image needs one label below {CLASSES}",
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

/// Returns the bytes of a file of items with these dimensions. gzip unpacks the file.
fn read(path: &Path, item: &[u32]) -> Result<Vec<u8>, String> {
    let complain = |what: &str| format!("{}: {what}", path.display());
    // gzip would report that as well, but not where to get the files.
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
        return Err(complain("too short, or has bytes after its last item"));
    }
    bytes.drain(..header);
    Ok(bytes)
}

/// Returns the number of bytes of items, from the header. Parts of an IDX file: 0, 0, type (8:
/// unsigned bytes), rank; each dimension, 32 bits big-endian; the bytes of the items.
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
        _ => Err("has no items, or more than a million"),
    }
}
