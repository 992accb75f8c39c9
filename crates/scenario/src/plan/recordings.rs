//! Recordings that start at another time in each run.
//!
//! A run with a seed begins at a time of its links' recordings that is drawn from the seed and the link's
//! name, so that repetitions meet different parts of them. The recordings of one link (rate and losses, both
//! directions, events) share the time: they may have been made together. Other draws of the run do not depend
//! on it.

use std::borrow::Cow;

use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{Impairment, LinkConfig, LinkRate};
use whimbrel_units::Duration;

use super::links::{EventPlan, LinkPlan, REVERSE};
use crate::Scenario;
use crate::link::{Loss, RateTrace, RecordingStart};

/// The recordings of one direction of a link that start at a random time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RandomStart {
    /// The link's name, without its direction.
    link: String,
    rate: bool,
    losses: bool,
    /// The longest of the link's recordings that start so.
    within: Duration,
}

impl RandomStart {
    pub(super) fn of(link: &str, trace: Option<&RateTrace>, loss: &Loss) -> Self {
        Self {
            link: link.to_owned(),
            rate: trace.is_some_and(|trace| trace.start == RecordingStart::Random),
            losses: starts_anywhere(loss),
            within: Duration::ZERO,
        }
    }

    /// `true` if a recording of this direction starts at a random time.
    pub fn is_used(&self) -> bool {
        self.rate || self.losses
    }

    /// The time of the recordings at which a run with this seed begins, and the share of a mask's packets
    /// before it.
    fn draw(&self, seed: u64) -> (Duration, f64) {
        let share = RandomStreams::new(seed, 0).stream(&self.link, "start of recordings").uniform();
        (self.within.mul_f64(share), share)
    }

    /// Recorded losses of this link, from the time on at which a run with this seed begins.
    pub fn impairment(&self, impairment: &Impairment, seed: u64) -> Impairment {
        let (start, share) = self.draw(seed);
        impairment.started_at(start, share)
    }
}

/// `true` if losses are a recording that starts at a random time.
pub(super) fn starts_anywhere(loss: &Loss) -> bool {
    matches!(loss.recording(), Some((RecordingStart::Random, _)))
}

/// The keys of recordings that every run meets from their beginning. A scenario's own masks are its design.
pub(super) fn fixed(scenario: &Scenario) -> Vec<String> {
    let mut keys = Vec::new();
    let mut add = |key: String, is_fixed: bool| is_fixed.then(|| keys.push(key));
    let rate = |trace: &Option<RateTrace>| {
        trace.as_ref().is_some_and(|trace| trace.start == RecordingStart::Beginning)
    };
    let losses = |loss: &Loss| {
        let is_list = matches!(loss, Loss::Mask { packets: Some(_), .. });
        !is_list && matches!(loss.recording(), Some((RecordingStart::Beginning, _)))
    };
    for (position, link) in scenario.link.iter().enumerate() {
        let key = link.name.clone().unwrap_or_else(|| position.to_string());
        add(format!("link.{key}.trace"), rate(&link.trace));
        add(format!("link.{key}.loss"), losses(&link.loss));
        if let Some(reverse) = &link.reverse {
            add(format!("link.{key}.reverse.trace"), rate(&reverse.trace));
            add(format!("link.{key}.reverse.loss"), losses(&reverse.loss));
        }
    }
    for (position, event) in scenario.event.iter().enumerate() {
        add(format!("event[{position}].loss"), event.loss.as_ref().is_some_and(losses));
    }
    keys
}

impl LinkPlan {
    /// The configuration in a run with this seed.
    pub fn config_for(&self, seed: u64) -> LinkConfig {
        let mut config = self.config.clone();
        if self.random_start.rate {
            config.rate = self.rate_for(seed);
        }
        if self.random_start.losses {
            config.impairment = self.random_start.impairment(&config.impairment, seed);
        }
        config
    }

    /// The rate in a run with this seed.
    pub(super) fn rate_in(&self, seed: u64) -> Cow<'_, LinkRate> {
        if self.random_start.rate {
            Cow::Owned(self.rate_for(seed))
        } else {
            Cow::Borrowed(&self.config.rate)
        }
    }

    fn rate_for(&self, seed: u64) -> LinkRate {
        let (start, _) = self.random_start.draw(seed);
        match &self.config.rate {
            LinkRate::Constant(rate) => (*rate).into(),
            LinkRate::TokenBucket(bucket) => (*bucket).into(),
            LinkRate::Steps(steps) => steps.started_at(start).into(),
            LinkRate::Deliveries(trace) => trace.started_at(start).into(),
            LinkRate::LoadDependent(trace) => trace.started_at(start).into(),
        }
    }

    /// The lengths of the recordings that start at a random time.
    fn random_lengths(&self) -> impl Iterator<Item = Duration> {
        let rate = match &self.config.rate {
            LinkRate::Constant(_) | LinkRate::TokenBucket(_) => None,
            LinkRate::Steps(steps) => Some(steps.period()),
            LinkRate::Deliveries(trace) => Some(trace.period()),
            LinkRate::LoadDependent(trace) => Some(trace.period()),
        };
        let rate = rate.filter(|_| self.random_start.rate);
        let losses = self.config.impairment.period().filter(|_| self.random_start.losses);
        // Steps of a single rate have no end.
        rate.into_iter().chain(losses).filter(|length| *length < Duration::MAX)
    }
}

/// Sets the time within which the recordings of each link start: the longest of them.
pub(super) fn set_range(links: &mut [LinkPlan], events: &[EventPlan]) {
    let of_events = |link: usize| {
        let own = events.iter().filter(move |event| event.link == link && event.losses_start_anywhere);
        own.filter_map(|event| event.impairment.as_ref()?.period())
    };
    let mut longest = Duration::ZERO;
    for link in 0..links.len() {
        let second = links[link].name.ends_with(REVERSE);
        longest = if second { longest } else { Duration::ZERO };
        longest = links[link].random_lengths().chain(of_events(link)).fold(longest, Duration::max);
        links[link].random_start.within = longest;
        // The two directions of a pair stand together.
        if second {
            links[link - 1].random_start.within = longest;
        }
    }
}
