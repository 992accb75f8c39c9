//! The capacity of a link in a run: its rate, which recordings, events and outages change.

use std::borrow::Cow;

use whimbrel_netsim::LinkRate;
use whimbrel_units::{DataRate, Instant};

use super::links::mean_rate;
use super::{EventPlan, LinkPlan};

/// The capacity of a link.
#[derive(Clone, Debug)]
pub struct LinkCapacity<'a> {
    rate: Cow<'a, LinkRate>,
    changes: Vec<&'a EventPlan>,
}

impl<'a> LinkCapacity<'a> {
    /// The capacity in a run with this seed; `changes` are the link's own, in the order of time.
    pub(super) fn new(link: &'a LinkPlan, changes: Vec<&'a EventPlan>, seed: u64) -> Self {
        Self { rate: link.rate_in(seed), changes }
    }

    /// `true` if a recording, an event or an outage changes it.
    pub fn varies(&self) -> bool {
        let is_constant = matches!(*self.rate, LinkRate::Constant(_) | LinkRate::TokenBucket(_));
        !is_constant || self.changes.iter().any(|change| change.rate.is_some() || change.up.is_some())
    }

    /// Its mean between two times.
    pub fn between(&self, start: Instant, end: Instant) -> DataRate {
        let mut up = true;
        let mut rate = None;
        let mut from = Instant::ZERO;
        let mut bits = 0.0;
        let mut add = |from: Instant, to: Instant, up: bool, rate: Option<DataRate>| {
            let from = from.max(start);
            if up && from < to {
                let mean = rate.unwrap_or_else(|| mean_rate(&self.rate, from, to));
                bits += mean.as_bits_per_second() * (to - from).as_secs_f64();
            }
        };
        for change in self.changes.iter().filter(|change| change.at < end) {
            add(from, change.at, up, rate);
            from = change.at;
            up = change.up.unwrap_or(up);
            rate = change.rate.or(rate);
        }
        add(from, end, up, rate);
        DataRate::from_bits_per_second(bits / (end - start).as_secs_f64())
    }
}
