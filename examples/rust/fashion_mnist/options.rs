// SPDX-License-Identifier: Apache-2.0
//! Reads and checks the command line.
use std::ops::RangeInclusive;
use std::path::PathBuf;

const HELP: &str = "\
Trains a small network on Fashion-MNIST with several mirrored replicas.

  --replicas N     replicas on this machine's CPU (default: what the configuration
                   says under `devices`, else 2)
  --epochs N       times over the training images (default 10)
  --batch N        images per step, over all replicas (default 128)
  --config FILE    YAML configuration of libmdist
  --limit-steps N  stop training after N steps
  --data DIR       folder of the four IDX files
                   (default /usr/share/datasets/fashion-mnist)
  --help           this text";

pub struct Options {
    pub replicas: u64, // 0: those of the configuration, or 2 if it has none
    pub epochs: u64,
    pub batch: u64,       // rows for all replicas together
    pub limit_steps: u64, // 0: no limit
    pub config: Option<PathBuf>,
    pub data: PathBuf,
}

impl Options {
    /// Returns `None` after --help, or an error that says what is wrong.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let data = PathBuf::from("/usr/share/datasets/fashion-mnist");
        let mut options = Options {
            replicas: 0,
            epochs: 10,
            batch: 128,
            limit_steps: 0,
            config: None,
            data,
        };
        while let Some(word) = words.next() {
            if word == "--help" {
                println!("{HELP}");
                return Ok(None);
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (&word[..], words.next()),
            };
            options.set(name, value.filter(|value| !value.is_empty()))?;
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: Option<String>) -> Result<(), String> {
        match name {
            "--replicas" => self.replicas = number(name, value, 1..=256)?,
            "--epochs" => self.epochs = number(name, value, 1..=10_000)?,
            "--batch" => self.batch = number(name, value, 1..=1_000_000)?,
            "--limit-steps" => self.limit_steps = number(name, value, 1..=1_000_000_000)?,
            "--config" => self.config = Some(path(name, value)?),
            "--data" => self.data = path(name, value)?,
            _ => return Err(format!("{name}: no such option")),
        }
        Ok(())
    }
}

fn number(name: &str, value: Option<String>, range: RangeInclusive<u64>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("{name}: needs a number"))?;
    value
        .parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            format!(
                "{name} {value}: must be a whole number from {} to {}",
                range.start(),
                range.end()
            )
        })
}

fn path(name: &str, value: Option<String>) -> Result<PathBuf, String> {
    value
        .map(PathBuf::from)
        .ok_or_else(|| format!("{name}: needs a path"))
}
