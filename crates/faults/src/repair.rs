//! Trials of repair: two connections with the layer on each, on a path that loses, duplicates, reorders,
//! damages and cuts, or has an attacker. Applications send frames in both directions.
//!
//! | law | |
//! |---|---|
//! | drained | a drained end sleeps, and sends a bounded number of packets per instant |
//! | once | a datagram is delivered once at most, as it was sent, and after all that were sent before it |
//! | outcome | each datagram that was accepted has left or was dropped, and the application learns which, once |
//! | no worse | an original that arrived is delivered, or counts as late: repair loses nothing that was there without it |
//! | share | coded packets take no more bytes than the data (RFC 6363, Section 8.2) |
//! | told apart | an end without repair gets and sends datagrams as they are |
//! | closed | the end is reported to both ends once, and no datagram after it |
//!
//! If packets were changed without a trace, a coded packet can spread that to others. Then *once* is about
//! repetitions alone, and *no worse* does not apply.

use core::net::SocketAddr;
use std::collections::BTreeSet;

use bytes::Bytes;
use whimbrel_proto::config::{IntegrityConfig, TimerConfig};
use whimbrel_proto::repair::{Delivery, Mark, RepairConfig, RepairLayer, Role};
use whimbrel_proto::{Ccid, Config, Connection, Datagram, DatagramId, Event};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType;

use crate::campaign::{Trial, run_world};
use crate::course::Course;
use crate::path::{InFlightPacket, Leaving, Path};
use crate::plan::{self, Dice, PathPlan, SERVER_PORT, START, Side};
use crate::trial::{self, Pair};

mod handed;

use handed::{Counted, Handed};

/// The longest time to the end after the close.
const PATIENCE: Duration = Duration::from_secs(600);
/// First byte of a datagram of the application, as [`whimbrel_proto::repair`] sends it for the first time.
const ORIGINAL: u8 = 1;
/// Bytes before and after the data in it.
const ADU_HEADER: usize = 8;
const ESI: usize = 4;
/// First bytes of coded packets, without the bit that marks the last of some: parity and surplus.
const CODED: [u8; 2] = [3, 4];
const LAST: u8 = 0x80;
/// First byte of a datagram in parts. Its head is covered by DCCP's checksum.
const IN_PARTS: u8 = 6;
const HEAD_COVERAGE: u8 = 9;

/// A trial of repair.
#[derive(Clone, Debug)]
pub struct RepairPlan {
    /// Its number.
    pub seed: u64,
    /// From the client, from the server.
    pub paths: [PathPlan; 2],
    /// Times at which a direction is cut, and until when.
    pub cuts: Vec<(Side, Instant, Instant)>,
    /// The layer of the client and of the server; `None` for an end without it.
    pub layers: [Option<RepairConfig>; 2],
    /// Congestion control of both directions.
    pub ccid: Ccid,
    /// Time between two frames of each end.
    pub interval: Duration,
    /// The most datagrams of a frame.
    pub parts: u64,
    /// The role of frames that begin no group.
    pub role: Role,
    /// Time for which they send.
    pub duration: Duration,
}

impl RepairPlan {
    /// Draws the trial with that number.
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::of_repair(seed, "plan");
        let trouble = dice.below(5);
        let paths =
            [(); 2].map(|()| PathPlan { long_delay: 0.0, stray: 0.0, ..plan::path(&mut dice, trouble) });
        let duration = dice.time(Duration::from_secs(1), Duration::from_secs(20));
        let mut layers = [(); 2].map(|()| Some(layer(&mut dice)));
        // Both ends have the same latency in practice; nothing breaks where they have not.
        if dice.chance(0.7) {
            layers[1] = layers[0];
        }
        if dice.chance(0.1) {
            layers[dice.below(2) as usize] = None;
        }
        let cuts = (0..dice.below(3)).map(|_| {
            let at = START + dice.time(Duration::ZERO, duration);
            (*dice.pick(&Side::BOTH), at, at + dice.time(Duration::ZERO, Duration::from_secs(3)))
        });
        Self {
            seed,
            paths,
            cuts: cuts.collect(),
            layers,
            ccid: *dice.pick(&[Ccid(2), Ccid(3)]),
            interval: dice.time(Duration::from_millis(5), Duration::from_millis(60)),
            parts: 1 + dice.below(20),
            role: *dice.pick(&[Role::Inner, Role::Disposable]),
            duration,
        }
    }

    /// Both ends send in parts.
    fn is_in_parts(&self) -> bool {
        self.layers.iter().all(|layer| layer.is_some_and(|layer| layer.in_parts))
    }

    /// The configuration of an end.
    fn config(&self, side: Side) -> Config {
        let layer = self.layers[side as usize];
        let in_parts = layer.is_some_and(|layer| layer.in_parts);
        let coverage = if in_parts { HEAD_COVERAGE } else { 0 };
        let integrity = IntegrityConfig::default().checksum_coverage(coverage).minimum_coverage(coverage);
        Config::default()
            .integrity(integrity)
            .repair_in_parts(in_parts)
            .sender_ccids([self.ccid])
            .receiver_ccids([self.ccid])
            .timers(TimerConfig::rfc4340().msl(Duration::from_secs(5)))
            .repair(layer.is_some())
    }
}

fn layer(dice: &mut Dice) -> RepairConfig {
    let mut config = RepairConfig::new(dice.time(Duration::ZERO, Duration::from_millis(600)));
    config.delivery = *dice.pick(&[Delivery::Constant, Delivery::Early]);
    config.queue = *dice.pick(&[4, 1024]);
    config.in_parts = dice.chance(0.3);
    config
}

/// Runs the trial with that number. `record` keeps a capture and a log. A broken law, or any other panic, is
/// part of the result.
pub fn run_repair_trial(seed: u64, record: bool) -> Trial {
    run_world(seed, World::new(RepairPlan::draw(seed), record))
}

/// One end.
#[derive(Debug)]
struct End {
    connection: Option<Connection>,
    layer: Option<RepairLayer>,
    /// Datagrams that were accepted and whose outcome is not known.
    pending: BTreeSet<DatagramId>,
    /// Numbers of this end's datagrams that were accepted, and the next.
    accepted: BTreeSet<u64>,
    next: u64,
    frame: u64,
    /// Of the other end's.
    delivered: Vec<u64>,
    /// Numbers of the other end's datagrams whose originals arrived, for a layer that repairs.
    originals: BTreeSet<u64>,
    handed: Handed,
    is_open: bool,
    closed: u32,
}

impl End {
    fn new(side: Side, plan: &RepairPlan) -> Self {
        Self {
            connection: None,
            layer: plan.layers[side as usize].map(RepairLayer::new),
            pending: BTreeSet::new(),
            accepted: BTreeSet::new(),
            next: 0,
            frame: 0,
            delivered: Vec::new(),
            originals: BTreeSet::new(),
            handed: Handed::default(),
            is_open: false,
            closed: 0,
        }
    }
}

/// The content of a datagram: its number, and bytes that depend on it.
fn content(side: Side, number: u64) -> Bytes {
    let mut bytes = (number << 1 | side as u64).to_be_bytes().to_vec();
    bytes.resize(8 + (number % 1_100 * 131 % 1_100) as usize, number as u8 ^ 0x5a);
    bytes.into()
}

#[derive(Debug)]
struct World {
    plan: RepairPlan,
    course: Course,
    ends: [End; 2],
    dice: Dice,
    next_frame: Instant,
    is_closing: bool,
}

impl Pair for World {
    const MAX_BURST: u64 = 2_000;

    fn run(&mut self) {
        trial::run_out(self);
        for side in Side::BOTH {
            self.check_end(side);
        }
    }

    fn course(&mut self) -> &mut Course {
        &mut self.course
    }

    fn next_action(&self) -> Option<Instant> {
        let frames = (self.next_frame < self.stop()).then_some(self.next_frame);
        let closing = (!self.is_closing).then_some(self.stop());
        frames.into_iter().chain(closing).min()
    }

    fn act(&mut self) {
        let (now, stop) = (self.course.now, self.stop());
        for &(side, from, until) in &self.plan.cuts {
            if (from..until).contains(&now) {
                let path = &mut self.course.paths[0][side as usize];
                path.cut_until = until.max(path.cut_until);
            }
        }
        if now >= self.next_frame && now < stop {
            self.next_frame = now + self.plan.interval;
            Side::BOTH.into_iter().for_each(|side| self.send_frame(side));
        }
        if now >= stop && !self.is_closing {
            self.is_closing = true;
            Side::BOTH.into_iter().for_each(|side| self.close(side));
        }
    }

    fn due(&self, side: Side) -> Option<Instant> {
        let End { connection, layer, .. } = &self.ends[side as usize];
        let connection = connection.as_ref().and_then(Connection::poll_timeout);
        let layer = layer.as_ref().and_then(RepairLayer::poll_timeout);
        [connection, layer].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, side: Side) {
        let now = self.course.now;
        let End { connection: Some(connection), layer, handed, .. } = &mut self.ends[side as usize] else {
            return;
        };
        connection.handle_timeout(now);
        if let Some(layer) = layer {
            layer.handle_timeout(now, &mut Counted { connection, handed });
        }
    }

    fn poll_transmit(&mut self, side: Side) -> Option<Leaving> {
        // The layer acts on what has left before the next packet.
        self.rise(side);
        let end = &mut self.ends[side as usize];
        let transmit = end.connection.as_mut()?.poll_transmit(self.course.now)?;
        let (source, destination) = (address(side), address(side.other()));
        Some(Leaving { source, destination, path: 0, handle: None, transmit })
    }

    fn arrive(&mut self, to: Side, arrived: InFlightPacket) {
        let InFlightPacket { meta, packet, .. } = arrived;
        let config = self.plan.config(to);
        let end = &mut self.ends[to as usize];
        if end.connection.is_none() && packet.packet_type() == PacketType::Request && !self.is_closing {
            end.connection = Connection::server(self.course.now, config, &packet, self.plan.seed + 1).ok();
        }
        if let Some(connection) = &mut end.connection {
            connection.handle_packet(self.course.now, meta, packet);
        }
    }

    fn acts_between(&mut self, _: Side) -> bool {
        self.dice.chance(0.7)
    }

    fn deliver_events(&mut self, side: Side) -> bool {
        self.rise(side)
    }

    fn check(&mut self) {
        assert!(
            self.course.now <= self.stop() + PATIENCE || self.is_over(),
            "connections are left long after the close"
        );
    }
}

impl World {
    fn new(plan: RepairPlan, record: bool) -> Self {
        let dice = |part: &str| Dice::of_repair(plan.seed, part);
        let mut ends = [End::new(Side::Client, &plan), End::new(Side::Server, &plan)];
        let mut client = Connection::client(START, plan.config(Side::Client), 40_000, SERVER_PORT, plan.seed)
            .expect("a plan's configuration is valid");
        client.connect(START);
        ends[0].connection = Some(client);
        let paths = [
            Path::new(plan.paths[0], None, dice("path from the client")),
            Path::new(plan.paths[1], None, dice("path from the server")),
        ];
        // The checksums of parts find what is changed in the data.
        let mut course = Course::new(START, record, vec![paths]);
        course.finds_damage = plan.is_in_parts();
        Self { course, ends, dice: dice("applications"), next_frame: START, is_closing: false, plan }
    }

    /// Time at which the applications close.
    fn stop(&self) -> Instant {
        START + self.plan.duration
    }

    fn is_over(&self) -> bool {
        self.ends.iter().all(|end| end.connection.as_ref().is_none_or(Connection::is_drained))
    }

    fn send_frame(&mut self, side: Side) {
        self.course.wake(side);
        let end = &mut self.ends[side as usize];
        let Some(connection) = end.connection.as_mut().filter(|_| end.is_open && end.closed == 0) else {
            return;
        };
        let mut below = Counted { connection, handed: &mut end.handed };
        let count = 1 + self.dice.below(self.plan.parts);
        let role = if end.frame.is_multiple_of(30) { Role::Start } else { self.plan.role };
        end.frame += 1;
        for part in 0..count {
            let mark = Mark { role, ..Mark::part(part as usize, count as usize) };
            let datagram = Datagram::new(content(side, end.next)).with_mark(mark);
            let sent = match &mut end.layer {
                Some(layer) => layer.send(self.course.now, &mut below, datagram),
                None => below.connection.send(self.course.now, datagram),
            };
            match sent {
                Ok(id) => {
                    assert!(end.pending.insert(id), "{id:?} names two datagrams");
                    end.accepted.insert(end.next);
                    self.course.tally.count("datagrams accepted");
                }
                Err(_) => self.course.tally.count("datagrams refused"),
            }
            end.next += 1;
        }
    }

    fn close(&mut self, side: Side) {
        self.course.wake(side);
        let end = &mut self.ends[side as usize];
        let Some(connection) = &mut end.connection else { return };
        if let Some(layer) = &mut end.layer {
            layer.close(self.course.now, &mut Counted { connection, handed: &mut end.handed });
        }
        connection.close(self.course.now);
    }

    /// Passes events through the layer to the application. `false` if there were none.
    fn rise(&mut self, side: Side) -> bool {
        let mut any = false;
        loop {
            let end = &mut self.ends[side as usize];
            let Some(connection) = &mut end.connection else { return any };
            let event = match &mut end.layer {
                None => connection.poll_event(),
                Some(layer) => match layer.poll_event() {
                    Some(event) => Some(event),
                    None => {
                        let Some(event) = connection.poll_event() else { return any };
                        if let Event::Datagram { payload, .. } = &event
                            && layer.counts().is_some()
                        {
                            end.originals.extend(original(side.other(), &payload.to_bytes()));
                        }
                        let handed = &mut end.handed;
                        layer.handle_event(self.course.now, &mut Counted { connection, handed }, event);
                        continue;
                    }
                },
            };
            let Some(event) = event else { return any };
            any = true;
            self.on_event(side, event);
        }
    }

    fn on_event(&mut self, side: Side, event: Event) {
        self.course.log(|| format!("{side:?} receives {event:?}"));
        let (corrupted, tally) = (self.course.corrupted, &mut self.course.tally);
        let [client, server] = &mut self.ends;
        let (end, other) = if side == Side::Client { (client, server) } else { (server, client) };
        match event {
            Event::Connected { .. } => {
                end.is_open = true;
                tally.count("connected");
            }
            Event::Datagram { payload, .. } => {
                assert_eq!(end.closed, 0, "data after the end");
                tally.count("datagrams delivered");
                let number = number(side.other(), &payload.to_bytes());
                let right = number.filter(|it| other.accepted.contains(it));
                assert!(right.is_some() || corrupted > 0, "data that were not sent: {payload:?}");
                let Some(number) = right else { return };
                let repairs = end.layer.as_ref().is_some_and(|layer| layer.counts().is_some());
                let is_later = end.delivered.last().is_none_or(|last| number > *last);
                assert!(is_later || !repairs || corrupted > 0, "{number} after {:?}", end.delivered.last());
                assert!(!end.delivered.contains(&number) || corrupted > 0, "{number} is delivered twice");
                end.delivered.push(number);
            }
            Event::DatagramSent { id, .. } => {
                assert!(end.pending.remove(&id), "{id:?} was sent, which is unknown or had an outcome");
            }
            Event::DatagramDropped { id, .. } => {
                tally.count("datagrams dropped by their sender");
                assert!(end.pending.remove(&id), "{id:?} was dropped, which is unknown or had an outcome");
            }
            Event::NewStartNeeded { .. } => tally.count("new starts asked for"),
            Event::Closed(_) => {
                end.closed += 1;
                assert!(end.pending.is_empty(), "no outcome of {:?}", end.pending);
            }
            _ => {}
        }
    }

    fn check_end(&mut self, side: Side) {
        let end = &self.ends[side as usize];
        if end.connection.is_none() {
            return;
        }
        assert_eq!(end.closed, 1, "the {side:?} learns of its end {} times", end.closed);
        assert!(end.pending.is_empty(), "no outcome of {:?}", end.pending);
        let Some(counts) = end.layer.as_ref().and_then(RepairLayer::counts) else { return };
        let (sent, received) = (counts.sent, counts.received);
        self.course.tally.add("datagrams repeated", sent.repeats);
        self.course.tally.add("coded packets", sent.parity + sent.surplus);
        self.course.tally.add("datagrams repaired", received.repeated + received.restored);
        self.course.tally.add("datagrams late", received.late);
        self.course.tally.add("frames that no answer could reach", sent.without_round);
        let Handed { original, coded } = end.handed;
        self.course.tally.add("coded bytes", coded);
        // The law holds within a second, which is counted in 64 parts.
        assert!(coded <= original + original / 16, "{coded} bytes of coded packets for {original} of data");
        if self.course.corrupted == 0 {
            let delivered: BTreeSet<u64> = end.delivered.iter().copied().collect();
            let missing: Vec<_> = end.originals.difference(&delivered).collect();
            assert!(
                missing.len() as u64 <= received.late,
                "the {side:?} did not deliver {missing:?}, which arrived; {} were late",
                received.late
            );
        }
    }
}

fn address(side: Side) -> SocketAddr {
    match side {
        Side::Client => SocketAddr::from(([198, 51, 100, 1], 6511)),
        Side::Server => SocketAddr::from(([192, 0, 2, 1], 6511)),
    }
}

/// The number of a datagram of `side`; `None` if it is none.
fn number(side: Side, bytes: &[u8]) -> Option<u64> {
    let word = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    (word & 1 == side as u64 && content(side, word >> 1) == bytes).then_some(word >> 1)
}

/// The number in a packet of the layer that carries a datagram of `side` for the first time.
fn original(side: Side, bytes: &[u8]) -> Option<u64> {
    if let Some(parts) = bytes.strip_prefix(&[IN_PARTS, ORIGINAL]) {
        let (count, rest) = parts.get(ESI + ADU_HEADER..)?.split_first()?;
        return number(side, rest.get(2 * (usize::from(*count) + 1)..)?);
    }
    let bytes = bytes.strip_prefix(&[ORIGINAL])?;
    number(side, bytes.get(ADU_HEADER..bytes.len().checked_sub(ESI)?)?)
}
