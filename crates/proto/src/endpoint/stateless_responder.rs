//! Answers to packets that belong to no connection, and their rate limits.
//!
//! The senders' addresses may be forged, so the endpoint must not amplify an attack: an answer is never
//! larger than three times the packet answered, Resets have one rate limit (RFC 4340, Section 8.1.3),
//! stateless Responses one for every address. Memory does not grow with the number of senders.

use core::net::IpAddr;
use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Packet, Reset};

use super::initial_sequence::Secret;
use crate::EndpointConfig;
use crate::refusal::refusal;
use crate::token_bucket::TokenBucket;

/// Fraction of a second's tokens that may be used at once.
const BURST_DIVISOR: u32 = 8;
/// The most answers that wait to be sent; a driver that leaves more has stopped polling.
const MAX_WAITING: usize = 1024;
/// Number of rate limits for stateless Responses: addresses share them by hash.
const LIMITS: usize = 4096;

/// Answers to packets that belong to no connection.
#[derive(Debug)]
pub(super) struct StatelessResponder<A> {
    waiting: VecDeque<(A, Packet)>,
    resets: TokenBucket,
    /// Rate limits of stateless Responses, by a hash of the address; empty before the first.
    responses: Vec<TokenBucket>,
    one_response_limit: TokenBucket,
}

impl<A> StatelessResponder<A> {
    pub(super) fn new(config: &EndpointConfig) -> Self {
        Self {
            waiting: VecDeque::new(),
            resets: per_second(config.resets_per_second),
            responses: Vec::new(),
            one_response_limit: per_second(config.stateless_responses_per_second),
        }
    }

    /// Answers `packet` with a Reset.
    pub(super) fn refuse(&mut self, now: Instant, address: A, packet: &Packet, reset: Reset) {
        if let Some(answer) = refusal(packet, reset)
            && self.waiting.len() < MAX_WAITING
            && self.resets.take(now)
        {
            self.waiting.push_back((address, answer));
        }
    }

    /// `true` if that address may get a stateless Response now.
    pub(super) fn may_respond(&mut self, now: Instant, secret: &Secret, ip: IpAddr) -> bool {
        if self.responses.is_empty() {
            self.responses = vec![self.one_response_limit; LIMITS];
        }
        let index = secret.address_hash(ip) as usize % LIMITS;
        self.waiting.len() < MAX_WAITING && self.responses[index].take(now)
    }

    /// Sends a stateless Response.
    pub(super) fn respond(&mut self, address: A, response: Packet) {
        self.waiting.push_back((address, response));
    }

    /// Number of answers that wait to be sent.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next answer.
    pub(super) fn next(&mut self) -> Option<(A, Packet)> {
        self.waiting.pop_front()
    }
}

fn per_second(rate: u32) -> TokenBucket {
    let burst = if rate == 0 { 0 } else { u64::from((rate / BURST_DIVISOR).max(1)) };
    TokenBucket::new(burst, Duration::from_nanos(1_000_000_000 / u64::from(rate.max(1))))
}
