//! AODV messages, and an agent that receives them.

use whimbrel_units::Instant;
use whimbrel_wifi::SplitMix64;
use whimbrel_wifi::routing::Address;
use whimbrel_wifi::routing::aodv::{Aodv, AodvConfig, AodvMessage, AodvRule};

use crate::routing::{Driven, ME};

/// The longest message.
const LONGEST: usize = 64;

/// One input: a sequence of messages, each after a byte of control, the hop limit and its length.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(mut data: &[u8]) {
    let mut driven = Driven::new(Aodv::new(Instant::ZERO, ME, AodvConfig::default(), SplitMix64::new(1)));
    while let Some((&[control, ttl, length], rest)) = data.split_first_chunk() {
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(length) % LONGEST));
        data = rest;
        let message = AodvMessage::parse(bytes, ttl).ok();
        if let Some(message) = &message {
            check_round_trip(message, ttl);
            assert!(message.size(AodvRule::Rfc3561) as usize <= 28 + bytes.len());
        }
        driven.step(control, message, &|message| check_round_trip(message, ttl_of(message)));
    }
}

/// The hop limit is in the network layer's header: only requests carry it along.
const fn ttl_of(message: &AodvMessage) -> u8 {
    match message {
        AodvMessage::Request(request) => request.ttl,
        _ => 0,
    }
}

fn check_round_trip(message: &AodvMessage, ttl: u8) {
    let mut bytes = Vec::new();
    message.encode(Address(9), &mut bytes);
    assert_eq!(bytes.len() + 28, message.size(AodvRule::Rfc3561) as usize);
    assert_eq!(AodvMessage::parse(&bytes, ttl).as_ref(), Ok(message));
}
