//! Searches for routes (RFC 3561 sections 6.3 and 6.4).

use alloc::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::AodvConfig;
use crate::routing::Address;

/// A search for a route in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    /// Reach of the last request; 0 before the first.
    ttl: u8,
    /// Requests sent through the whole network.
    wide_requests: u32,
    /// Time of the next request, or of giving up.
    pub(super) due: Instant,
    /// `true` if the node repairs a route in use, and reports an error if the search fails.
    pub(super) is_repair: bool,
}

/// The next step of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A request with this reach is to be sent.
    Request {
        /// The reach.
        ttl: u8,
    },
    /// The search is given up.
    GiveUp,
}

/// The searches of a node.
#[derive(Clone, Default, Debug)]
pub(super) struct Searches {
    searches: BTreeMap<Address, Search>,
    /// Times of the last requests, for the limit of their rate.
    requests: VecDeque<Instant>,
}

impl Searches {
    pub(super) fn is_under_repair(&self, destination: Address) -> bool {
        self.searches.get(&destination).is_some_and(|search| search.is_repair)
    }

    /// Begins a search, unless one is in progress. `hops` is the length of the last known route.
    pub(super) fn begin(
        &mut self,
        config: &AodvConfig,
        now: Instant,
        destination: Address,
        hops: Option<u8>,
    ) {
        // The first reach is that of the last known route and some more.
        let before =
            hops.filter(|&hops| hops < config.net_diameter).map_or(0, |hops| hops.min(config.ttl_threshold));
        let search = Search { ttl: before, wide_requests: 0, due: now, is_repair: false };
        self.searches.entry(destination).or_insert(search);
    }

    /// Begins a local repair with this reach, unless a search is in progress.
    pub(super) fn begin_repair(&mut self, config: &AodvConfig, now: Instant, destination: Address, ttl: u8) {
        // A single request: the whole network is searched by the originator, if need be.
        let wide_requests = config.request_retries;
        let ttl = ttl.max(1) - 1;
        self.searches.entry(destination).or_insert(Search { ttl, wide_requests, due: now, is_repair: true });
    }

    pub(super) fn end(&mut self, destination: Address) {
        self.searches.remove(&destination);
    }

    /// The destination of a search whose next step is due.
    pub(super) fn due(&self, now: Instant) -> Option<Address> {
        self.searches.iter().find(|(_, search)| search.due <= now).map(|(&destination, _)| destination)
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.searches.values().map(|search| search.due).min()
    }

    /// Takes the next step of a search; `None` if the limit of the rate postpones it.
    pub(super) fn step(&mut self, config: &AodvConfig, now: Instant, destination: Address) -> Option<Step> {
        let search = self.searches.get_mut(&destination)?;
        let gives_up = if search.is_repair {
            search.wide_requests > config.request_retries
        } else {
            search.ttl >= config.net_diameter && search.wide_requests > config.request_retries
        };
        if gives_up {
            return Some(Step::GiveUp);
        }
        let second = Duration::from_secs(1);
        while self.requests.front().is_some_and(|&at| at + second <= now) {
            self.requests.pop_front();
        }
        if self.requests.len() >= config.request_rate_limit.max(1) {
            search.due = self.requests[0] + second;
            return None;
        }
        self.requests.push_back(now);
        if search.is_repair {
            search.ttl += 1;
            search.wide_requests += 1;
            search.due = now + config.ring_traversal_time(search.ttl);
            return Some(Step::Request { ttl: search.ttl });
        }
        let wider = match search.ttl {
            0 => config.ttl_start.max(1),
            ttl => ttl.saturating_add(config.ttl_increment.max(1)),
        };
        let is_wide = wider > config.ttl_threshold || wider >= config.net_diameter;
        search.ttl = if is_wide { config.net_diameter } else { wider };
        search.due = now
            + if search.ttl == config.net_diameter {
                search.wide_requests += 1;
                // The wait doubles with every repetition (section 6.3).
                config.net_traversal_time() * (1 << (search.wide_requests - 1).min(16))
            } else {
                config.ring_traversal_time(search.ttl)
            };
        Some(Step::Request { ttl: search.ttl })
    }
}
