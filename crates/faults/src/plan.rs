//! The plan of one trial, drawn from its number.

use core::ops::RangeInclusive;

use whimbrel_netsim::random::{RandomStream, RandomStreams};
use whimbrel_proto::endpoint::InitCookies;
use whimbrel_proto::{Config, EndpointConfig};
use whimbrel_units::{DataRate, Duration, Instant};

mod config;
mod extremes;
mod liveness;
mod moves;
mod ordering;
mod script;

pub use liveness::Steady;
pub(crate) use moves::PLACES;
pub use script::Action;

/// The DCCP port on which the server listens.
pub const SERVER_PORT: u16 = 5001;
/// Start time of a trial: not the epoch, so that a few minutes can be subtracted.
pub const START: Instant = Instant::from_secs(1_000);

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// Connects.
    Client,
    /// Listens.
    Server,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other one.
    pub fn other(self) -> Self {
        if self == Self::Client { Self::Server } else { Self::Client }
    }
}

/// The treatment of packets by one direction of the path. Probabilities are per packet.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathPlan {
    /// The least delay.
    pub delay: Duration,
    /// The most random delay added.
    pub jitter: Duration,
    /// A bottleneck that drops packets which would wait longer than half a second.
    pub rate: Option<DataRate>,
    /// Is lost.
    pub lose: f64,
    /// A second copy arrives, up to two seconds later.
    pub duplicate: f64,
    /// Arrives up to a second later than others.
    pub reorder: f64,
    /// Arrives minutes later.
    pub long_delay: f64,
    /// Marked "congestion experienced", if it is ECN-capable.
    pub mark: f64,
    /// Bits flip, which the checksum detects.
    pub damage: f64,
    /// Is truncated, which the checksum detects.
    pub truncate: f64,
    /// An attacker changes it and corrects the checksum.
    pub forge: f64,
    /// Arrives from an unknown address.
    pub stray: f64,
    /// The source of reports that a packet is too large.
    pub icmp: IcmpPolicy,
    /// Of the packets that an attacker changes: get an option with numbers at the end of their range.
    pub saturate: f64,
}

/// The source of reports to the sender that a packet was too large for the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IcmpPolicy {
    /// None: the path is a black hole.
    #[default]
    None,
    /// A router, by ICMP, with the size that fits; it may be lost like other packets.
    Router,
    /// The sender's own host, at once and without the size.
    Host,
}

/// One of the two hosts.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The configuration of its endpoint.
    pub endpoint: EndpointConfig,
    /// The longest delay of its wake-ups.
    pub latency: Duration,
    /// The share of datagrams that its applications discard.
    pub discards: f64,
    /// Packets that arrive within this time are passed to it together, as in a receive that the network card
    /// or the kernel has coalesced.
    pub coalesces: Option<Duration>,
    /// Initial sequence numbers, without the clock's share; random if `None`.
    pub numbers: Option<u64>,
}

/// A trial.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its number.
    pub seed: u64,
    /// The client's and the server's host.
    pub hosts: [HostPlan; 2],
    /// The configuration of the server.
    pub server: Config,
    /// From the client, from the server.
    pub paths: [PathPlan; 2],
    /// Actions of the applications and of the network, in order of time.
    pub script: Vec<(Instant, Action)>,
    /// The sizes of datagrams, in bytes.
    pub sizes: RangeInclusive<usize>,
    /// Start time.
    pub start: Instant,
    /// An application that sends at a steady rate in the end, on a path without losses.
    pub steady: Option<Steady>,
    /// Time at which the applications close all open connections.
    pub horizon: Instant,
    /// The longest time to the end after that: all timers, one after the other.
    pub patience: Duration,
    /// `true` if packets to an address that the NAT has replaced still arrive.
    pub old_mapping_lives: bool,
    /// `true` if the path has no impairment except a limit on the packet size.
    pub is_clean: bool,
}

impl Plan {
    /// The trial with that number.
    pub fn draw(seed: u64) -> Self {
        let mut plan = Self::draw_plain(seed);
        let mut dice = Dice(RandomStreams::new(seed, 0).stream("plan", "extremes"));
        match dice.below(20) {
            0 => liveness::draw(&mut dice, &mut plan),
            1..=9 => extremes::draw(&mut dice, &mut plan),
            _ => {}
        }
        plan
    }

    /// The trial with that number, without numbers that wrap, coalesced receives, crowds and saturated
    /// fields, and without a steady end.
    pub fn draw_plain(seed: u64) -> Self {
        let streams = RandomStreams::new(seed, 0);
        let mut dice = Dice(streams.stream("plan", "hosts"));
        let sizes = match dice.below(3) {
            0 => {
                let size = 8 + dice.below(1_400) as usize;
                size..=size
            }
            1 => 8..=100,
            _ => 8..=1_400,
        };
        let hosts = [host(&mut dice), host(&mut dice)];
        let mut server = config::draw(&mut dice);
        let trouble = dice.below(5);
        let mut paths = [path(&mut dice, trouble), path(&mut dice, trouble)];
        let is_clean = trouble == 0;
        if is_clean {
            paths.iter_mut().for_each(|path| path.rate = None);
        }
        let length = [2_000, 10_000, 60_000, 300_000][dice.below(4) as usize];
        let horizon = START + Duration::from_millis(length);
        let mut clients: Vec<Config> =
            (0..=dice.below(3)).map(|_| config::draw_like(&mut dice, &server)).collect();
        if dice.chance(0.03) {
            clients[0].service_code.0 += 1;
        }
        server.max_datagram = server.max_datagram.max(*sizes.end());
        for client in &mut clients {
            client.max_datagram = client.max_datagram.max(*sizes.end());
        }
        // A client may give up, give up closing, and keep TIMEWAIT; a server likewise.
        let longest = clients.iter().chain([&server]).map(|config| config.timers.msl).max();
        let patience = patience(longest.unwrap_or_default());
        // Drawn from a stream of their own, so that trials without moves are unchanged.
        let mut moves = Dice(streams.stream("plan", "moves"));
        // On a clean path, few sizes are found once a client has moved.
        let is_mobile = moves.chance(if is_clean { 0.15 } else { 0.4 });
        if is_mobile {
            moves::allow(&mut moves, &mut server, &mut clients, is_clean);
        }
        let mut order = Dice(streams.stream("plan", "ordering"));
        if order.chance(0.5) {
            ordering::allow(&mut order, core::iter::once(&mut server).chain(&mut clients));
        }
        let mut script = script::draw(&mut dice, clients, &sizes, horizon, is_clean);
        if is_mobile {
            moves::draw(&mut moves, horizon, is_clean, &mut script);
        }
        let old_mapping_lives = dice.chance(0.3);
        Self {
            seed,
            hosts,
            server,
            paths,
            script,
            sizes,
            start: START,
            steady: None,
            horizon,
            patience,
            old_mapping_lives,
            is_clean,
        }
    }

    /// The round-trip time without queues and without extra delays.
    pub(crate) fn rtt(&self) -> Duration {
        let there_and_back = self.paths[0].delay + self.paths[1].delay;
        there_and_back + self.hosts[0].latency + self.hosts[1].latency
    }

    /// The random stream of a part of this trial.
    pub(crate) fn dice(&self, part: &str) -> Dice {
        Dice(RandomStreams::new(self.seed, 0).stream(part, "trial"))
    }
}

/// The longest time to the end once the applications have closed, with a maximum segment lifetime of at most
/// `msl`.
fn patience(msl: Duration) -> Duration {
    msl * 7 + Duration::from_secs(240)
}

#[allow(clippy::needless_update, reason = "a new option keeps its default until it is drawn here")]
fn host(dice: &mut Dice) -> HostPlan {
    let endpoint = EndpointConfig::default()
        .max_accepted(if dice.chance(0.1) { 1 } else { 64 })
        .max_half_open(if dice.chance(0.1) { 1 } else { 16 })
        .resets_per_second([0, 8, 1024][dice.below(3) as usize])
        .packets_per_turn([1, 4, 32][dice.below(3) as usize])
        .init_cookies(*dice.pick(&[InitCookies::Never, InitCookies::UnderPressure, InitCookies::Always]))
        .stateless_responses_per_second([1, 1024][dice.below(2) as usize]);
    let latency = if dice.chance(0.25) {
        dice.time(Duration::from_micros(10), Duration::from_millis(20))
    } else {
        Duration::ZERO
    };
    let discards = if dice.chance(0.3) { dice.between(0.0, 0.3) } else { 0.0 };
    HostPlan { endpoint, latency, discards, coalesces: None, numbers: None }
}

/// `trouble` is the degree of impairment, from 0 (ideal) to 4 (hostile).
pub(crate) fn path(dice: &mut Dice, trouble: u64) -> PathPlan {
    let delay = match dice.below(6) {
        0 => Duration::ZERO,
        1 => Duration::from_micros(50 + dice.below(1_000)),
        5 => Duration::from_millis(250 + dice.below(2_000)),
        _ => Duration::from_millis(1 + dice.below(150)),
    };
    let rate = dice.chance(0.3).then(|| DataRate::from_kilobits_per_second(dice.between(10.0, 20_000.0)));
    let icmp = *dice.pick(&[IcmpPolicy::None, IcmpPolicy::Router, IcmpPolicy::Host]);
    let mut plan = PathPlan { delay, rate, icmp, ..PathPlan::default() };
    if trouble == 0 {
        return plan;
    }
    let scale = [0.0, 0.02, 0.1, 0.3, 0.15][trouble as usize];
    let mut share = |of: f64| if dice.chance(0.7) { dice.between(0.0, scale * of) } else { 0.0 };
    plan.lose = share(1.5);
    plan.duplicate = share(1.0);
    plan.reorder = share(1.0);
    plan.mark = share(0.5);
    plan.damage = share(0.3);
    plan.truncate = share(0.3);
    plan.long_delay = share(0.05);
    plan.stray = if trouble >= 3 { share(0.1) } else { 0.0 };
    plan.forge = if trouble == 4 { share(2.0) } else { 0.0 };
    plan.jitter = Duration::from_millis(dice.below(1 + (100.0 * scale) as u64));
    plan
}

/// A random stream with the distributions that a trial needs.
#[derive(Clone, Debug)]
pub(crate) struct Dice(RandomStream);

impl Dice {
    /// The stream of a multipath trial's part.
    pub(crate) fn of_multipath(seed: u64, part: &str) -> Self {
        Self(RandomStreams::new(seed, 0).stream(part, "multipath"))
    }

    /// The stream of a part of a trial of repair.
    pub(crate) fn of_repair(seed: u64, part: &str) -> Self {
        Self(RandomStreams::new(seed, 0).stream(part, "repair"))
    }

    /// An integer below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// An integer within bounds.
    pub(crate) fn within(&mut self, range: &RangeInclusive<usize>) -> usize {
        range.start() + self.below((range.end() - range.start()) as u64 + 1) as usize
    }

    /// `true` with that probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.bernoulli(probability)
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0.uniform_between(low, high)
    }

    pub(crate) fn time(&mut self, low: Duration, high: Duration) -> Duration {
        self.0.duration_between(low, high)
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}
