//! DSDV updates, and an agent that receives them.

use whimbrel_units::Instant;
use whimbrel_wifi::SplitMix64;
use whimbrel_wifi::routing::dsdv::{Dsdv, DsdvConfig, DsdvUpdate};

use crate::routing::{Driven, ME};

/// One input: a byte that selects the rules, then a sequence of updates, each after a byte of control and its
/// length.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let Some((&rules, mut data)) = data.split_first() else { return };
    let config = if rules & 1 == 0 { DsdvConfig::default() } else { DsdvConfig::NS2 };
    let mut driven = Driven::new(Dsdv::new(Instant::ZERO, ME, config, SplitMix64::new(1)));
    while let Some((&[control, length], rest)) = data.split_first_chunk() {
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(length)));
        data = rest;
        let update = DsdvUpdate::parse(bytes).ok();
        if let Some(update) = &update {
            assert_eq!(update.size() as usize, 20 + bytes.len());
            check_round_trip(update);
        }
        driven.step(control, update, &check_round_trip);
    }
}

fn check_round_trip(update: &DsdvUpdate) {
    let mut bytes = Vec::new();
    update.encode(&mut bytes);
    assert_eq!(bytes.len() + 20, update.size() as usize);
    assert_eq!(DsdvUpdate::parse(&bytes).as_ref(), Ok(update));
}
