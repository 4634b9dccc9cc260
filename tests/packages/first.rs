// SPDX-License-Identifier: Apache-2.0
// The first program: every replica gets the sum of the numbers that replicas have.
use mdist::{Config, Op, Strategy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::new()?;
    config.set("devices", "cpu*4")?;
    let strategy = Strategy::new(&config)?;
    strategy.run(|replica| {
        let mut x = (replica.id() + 1) as f32;
        replica.all_reduce(Op::Sum, &mut x)?;
        println!("replica {} of {}: {x}", replica.id(), replica.count());
        Ok(())
    })?;
    Ok(())
}
