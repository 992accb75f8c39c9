//! Searches for routes (RFC 3561 sections 6.3 and 6.4), and the routes found.

use alloc::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::table::{Offer, Update};
use super::{Aodv, AodvConfig, AodvMessage, AodvRule, RouteRequest};
use crate::Random;
use crate::routing::{Address, RouteEvent};

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
    /// Under ns-2's rule, the end of the wait for the last request: a packet after it causes the next one.
    ready: Instant,
    /// Time of the last request.
    sent: Instant,
}

/// The state that ns-2 keeps of the searches for a destination.
#[derive(Clone, Copy, Default, Debug)]
struct Memory {
    /// Reach of the last search, or length of the route found.
    reach: u8,
    /// The last times per hop.
    latencies: [Option<Duration>; 3],
    next: usize,
}

impl Memory {
    /// The mean of the last times per hop (`PerHopTime`).
    fn time_per_hop(&self, config: &AodvConfig) -> Duration {
        let known = self.latencies.iter().flatten();
        match known.clone().count() {
            0 => config.node_traversal_time,
            count => known.fold(Duration::ZERO, |sum, &latency| sum + latency) / count as u64,
        }
    }
}

/// The longest wait of a search in ns-2 (MAX_RREQ_TIMEOUT).
const MAX_WAIT: Duration = Duration::from_secs(10);

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

/// The next time at or after `at` at which the timer of ns-2's route cache runs: a multiple of 0.5 s.
pub(super) fn next_tick(at: Instant) -> Instant {
    let interval = Duration::from_millis(500).as_nanos();
    Instant::from_nanos(at.as_nanos().div_ceil(interval).saturating_mul(interval))
}

/// The searches of a node.
#[derive(Clone, Default, Debug)]
pub(super) struct Searches {
    searches: BTreeMap<Address, Search>,
    memory: BTreeMap<Address, Memory>,
    /// Times of the last requests, for the limit of their rate.
    requests: VecDeque<Instant>,
    /// The last route found and the time of the request.
    found: Option<(Address, Instant)>,
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
        if config.requests == AodvRule::Ns2 {
            let memory = self.memory.entry(destination).or_default();
            memory.reach = memory.reach.max(hops.unwrap_or(0));
            let search =
                Search { ttl: 0, wide_requests: 0, due: now, is_repair: false, ready: now, sent: now };
            let search = self.searches.entry(destination).or_insert(search);
            if search.ready <= now {
                search.due = now;
            }
            return;
        }
        // The first reach is the last known route's and some more.
        let before =
            hops.filter(|&hops| hops < config.net_diameter).map_or(0, |hops| hops.min(config.ttl_threshold));
        let search =
            Search { ttl: before, wide_requests: 0, due: now, is_repair: false, ready: now, sent: now };
        self.searches.entry(destination).or_insert(search);
    }

    /// Begins a local repair with this reach, unless a search is in progress.
    pub(super) fn begin_repair(&mut self, config: &AodvConfig, now: Instant, destination: Address, ttl: u8) {
        // A single request: the whole network is searched by the originator, if need be.
        let wide_requests = config.request_retries;
        let ttl = ttl.max(1) - 1;
        let search = Search { ttl, wide_requests, due: now, is_repair: true, ready: now, sent: now };
        self.searches.entry(destination).or_insert(search);
    }

    pub(super) fn end(&mut self, destination: Address) {
        self.searches.remove(&destination);
    }

    pub(super) fn contains(&self, destination: Address) -> bool {
        self.searches.contains_key(&destination)
    }

    /// A route of `hops` hops has been found.
    pub(super) fn find(&mut self, config: &AodvConfig, destination: Address, hops: u8) {
        if config.requests == AodvRule::Rfc3561 {
            self.searches.remove(&destination);
        } else if let Some(search) = self.searches.remove(&destination) {
            let memory = self.memory.entry(destination).or_default();
            memory.reach = hops;
            self.found = Some((destination, search.sent));
        }
    }

    /// The reply of the search for the route found last has arrived over `hops` hops.
    pub(super) fn measure(&mut self, now: Instant, destination: Address, hops: u8) {
        if let Some((_, sent)) = self.found.take_if(|(found, _)| *found == destination) {
            let memory = self.memory.entry(destination).or_default();
            memory.latencies[memory.next] = Some((now - sent) / u64::from(hops.max(1)));
            memory.next = (memory.next + 1) % memory.latencies.len();
        }
    }

    /// The last request remained without a reply.
    pub(super) fn give_up(&mut self, config: &AodvConfig, now: Instant, destination: Address) {
        match self.searches.get_mut(&destination) {
            Some(search) if config.requests == AodvRule::Ns2 => {
                search.wide_requests = 0;
                search.ready = now + MAX_WAIT;
                search.due = next_tick(search.ready);
            }
            _ => self.end(destination),
        }
    }

    /// The next step under ns-2's rule (`sendRequest`).
    fn step_ns2(&mut self, config: &AodvConfig, now: Instant, destination: Address) -> Option<Step> {
        let search = self.searches.get_mut(&destination)?;
        if search.wide_requests > config.request_retries {
            return Some(Step::GiveUp);
        }
        let memory = self.memory.entry(destination).or_default();
        let ttl = match memory.reach {
            0 => config.ttl_start,
            reach if reach < config.ttl_threshold => reach + config.ttl_increment,
            _ => {
                search.wide_requests += 1;
                config.net_diameter
            }
        };
        memory.reach = ttl;
        let wait = memory.time_per_hop(config) * 2 * u64::from(ttl) * u64::from(search.wide_requests.max(1));
        (search.ttl, search.sent) = (ttl, now);
        search.ready = now + wait.min(MAX_WAIT);
        search.due = next_tick(search.ready.max(now + Duration::from_nanos(1)));
        Some(Step::Request { ttl })
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
        if config.requests == AodvRule::Ns2 {
            return self.step_ns2(config, now, destination);
        }
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

impl<R: Random> Aodv<R> {
    /// Takes the next step of a search.
    pub(super) fn search(&mut self, now: Instant, destination: Address) {
        if self.config.requests == AodvRule::Ns2 && !self.buffer.contains(destination) {
            // The timer of ns-2 asks for the packets that wait.
            return self.searches.end(destination);
        }
        match self.searches.step(&self.config, now, destination) {
            None => {}
            Some(Step::Request { ttl }) => {
                self.advance_sequence(now);
                self.request_id = self.request_id.wrapping_add(1);
                self.stats.requests += 1;
                let request = RouteRequest {
                    destination_only: self.config.destination_only,
                    gratuitous_reply: self.config.gratuitous_reply,
                    hops: 0,
                    id: self.request_id,
                    destination,
                    destination_sequence: self.table.get(destination).and_then(|route| route.sequence),
                    originator: self.address,
                    originator_sequence: self.sequence,
                    ttl,
                };
                let message = AodvMessage::Request(request);
                match self.config.requests {
                    AodvRule::Rfc3561 => self.broadcast(now, message),
                    AodvRule::Ns2 => self.broadcast_at_once(now, message),
                }
            }
            Some(Step::GiveUp) => {
                self.stats.failed_searches += 1;
                self.searches.give_up(&self.config, now, destination);
                let Some(route) = self.repairs.remove(&destination) else {
                    return self.buffer.discard(destination, &mut self.events);
                };
                let has_own = self.buffer.discard_forwarded(self.address, destination, &mut self.events);
                let hops = route.hops;
                self.send_errors(now, &[route], false);
                if has_own {
                    // A repair is one request of small reach. The node's own packets are worth a whole search
                    // (section 6.3).
                    self.searches.begin(&self.config, now, destination, Some(hops));
                }
            }
        }
    }

    /// Offers a route to the table; `true` if it was accepted.
    pub(super) fn offer(&mut self, now: Instant, offer: Offer) -> bool {
        let Offer { destination, .. } = offer;
        if destination == self.address {
            return false;
        }
        let update = self.table.update(offer);
        if update == Update::New
            && let Some(route) = self.table.valid(destination)
        {
            let (next_hop, hops) = (route.next_hop, route.hops);
            self.events.push_back(RouteEvent::Set { destination, next_hop, hops });
        }
        if update == Update::Refused {
            return false;
        }
        let hops = self.table.get(destination).map_or(0, |route| route.hops);
        self.searches.find(&self.config, destination, hops);
        self.buffer.forward(destination, &mut self.events);
        if let Some(route) = self.repairs.remove(&destination) {
            self.finish_repair(now, route);
        }
        true
    }

    /// A message of a neighbour shows that the link to it is up.
    pub(super) fn offer_neighbour(
        &mut self,
        now: Instant,
        neighbour: Address,
        sequence: Option<u32>,
        lifetime: Duration,
    ) {
        if self.config.neighbour_routes == AodvRule::Ns2 {
            return;
        }
        let (destination, next_hop, expires) = (neighbour, neighbour, now + lifetime);
        self.offer(now, Offer { destination, next_hop, hops: 1, sequence, expires });
    }
}
