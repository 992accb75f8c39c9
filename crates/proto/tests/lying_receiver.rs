//! A viewer whose reports of repair lie, behind a connection: what it gets, and what it costs the camera.
//!
//! The viewer is honest for [`START`]. Feedback of congestion control stays true: repair has no part in it.

use std::collections::{BTreeMap, VecDeque};

use allocation_counter::measure;
use bytes::Bytes;
use whimbrel_proto::repair::{Mark, RepairConfig, RepairCounts, RepairLayer};
use whimbrel_proto::{
    Ccid, Config, Connection, Datagram, Event, OverflowPolicy, ReceiveMeta, SendQueueConfig,
};
use whimbrel_repair::channel::Cause;
use whimbrel_repair::fecframe::Esi;
use whimbrel_repair::wire::{self, Report};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Packet, Payload};

use crate::attackers::Dice;

/// One way, each way.
const DELAY: Duration = Duration::from_millis(20);
const ROUND_TRIP: Duration = Duration::from_millis(40);
const LATENCY: Duration = Duration::from_millis(150);
/// Rates of the link from the camera, in bits per second: twice the video's, and a multiple.
const SLOW: u64 = 4_000_000;
const FAST: u64 = 100_000_000;
/// The longest queue of the link, in time.
const BUFFER: Duration = Duration::from_millis(50);
/// A frame of so many datagrams of so many bytes each [`INTERVAL`]: 1.9 Mbit/s.
const PARTS: usize = 8;
const SIZE: usize = 1_000;
const INTERVAL: Duration = Duration::from_millis(33);
/// Datagrams that can still be repaired: those within the latency.
const LIVE: u64 = (LATENCY.as_nanos() / INTERVAL.as_nanos() + 1) * PARTS as u64;
/// Times of the honest viewer, and twice of the liar.
const START: Duration = Duration::from_secs(2);
const LIES: Duration = Duration::from_secs(8);
/// Repeats over the source, as `whimbrel_repair::sender` allows.
const REPEATS: u64 = 8;

/// Reports of the viewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lie {
    /// The truth.
    None,
    /// Nothing.
    Silent,
    /// Every datagram is lost, at each arrival.
    AllLost,
    /// The same a thousand times a second, and that each answer has arrived.
    Flood,
    /// The same once a round trip.
    Seldom,
    /// The same, with times by which the round trip takes none.
    NoRoundTrip,
    /// The same, with times by which the round trip takes seconds.
    LongRoundTrip,
    /// Symbols, frames and answers that never were, or are long over, in the future or the past.
    Unknown,
    /// The reports of [`Lie::AllLost`], with some bytes changed or cut off.
    Damaged,
    /// Each report is of another kind.
    Mixed,
}

impl Lie {
    const ALL: [Self; 10] = [
        Self::None,
        Self::Silent,
        Self::AllLost,
        Self::Flood,
        Self::Seldom,
        Self::NoRoundTrip,
        Self::LongRoundTrip,
        Self::Unknown,
        Self::Damaged,
        Self::Mixed,
    ];

    /// Reports follow arrivals; others go by the clock.
    fn follows_arrivals(self) -> bool {
        matches!(self, Self::AllLost | Self::Damaged)
    }

    /// The viewer tells the truth of times and of the answers that have arrived.
    fn has_true_times(self) -> bool {
        matches!(self, Self::None | Self::Silent | Self::AllLost)
    }
}

/// A connection, and repair above it.
struct End {
    connection: Connection,
    layer: RepairLayer,
}

impl End {
    fn new(connection: Connection) -> Self {
        Self { connection, layer: RepairLayer::new(RepairConfig::new(LATENCY)) }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.layer.handle_timeout(now, &mut self.connection);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.connection.poll_timeout(), self.layer.poll_timeout()].into_iter().flatten().min()
    }

    /// Passes events through the layer; returns the next for the application.
    fn poll_event(&mut self, now: Instant) -> Option<Event> {
        loop {
            if let Some(event) = self.layer.poll_event() {
                return Some(event);
            }
            let event = self.connection.poll_event()?;
            self.layer.handle_event(now, &mut self.connection, event);
        }
    }
}

/// Bytes and datagrams of both ends.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Bytes of datagrams of the application, of repeats and of coded packets.
    source: u64,
    repeats: u64,
    coded: u64,
    /// All three since the viewer lies, and what congestion control allowed.
    sent: u64,
    allowed: f64,
    /// Datagrams of the application that were accepted, and those that arrived, since the viewer lies.
    accepted: u64,
    arrived: u64,
    /// Reports that it has sent since.
    reports: u64,
    /// New starts that the camera's encoder was asked for.
    starts: u64,
    /// The least time between two repeats of a datagram.
    least_gap: Option<Duration>,
    /// The most datagrams that waited in the connection.
    most_waiting: usize,
}

struct World {
    now: Instant,
    camera: End,
    viewer: End,
    lie: Option<Lie>,
    dice: Dice,
    /// Packets under way: to the viewer, to the camera.
    under_way: [VecDeque<(Instant, Packet)>; 2],
    /// The rate of the link from the camera, and when it has sent what it has.
    rate: u64,
    free: Instant,
    next_frame: Instant,
    next_lie: Instant,
    /// The newest symbol and the newest answer that arrived.
    newest: Esi,
    answer: u8,
    number: u8,
    /// When datagrams were repeated, for those that were sent of late.
    repeated: BTreeMap<u32, Instant>,
    tally: Tally,
}

impl World {
    fn connected(rate: u64) -> Self {
        let queue = SendQueueConfig::default().max_datagrams(64).overflow(OverflowPolicy::Refuse);
        let config = Config::default()
            .sender_ccids([Ccid(3)])
            .receiver_ccids([Ccid(3)])
            .send_queue(queue)
            .sequence_window(10_000)
            .repair(true);
        let now = Instant::from_secs(1);
        let mut client = Connection::client(now, config.clone(), 1, 2, 1_000).expect("a configuration");
        client.connect(now);
        let request = client.poll_transmit(now).expect("a Request").packet;
        let mut server = Connection::server(now, config, &request, 2_000).expect("a configuration");
        server.handle_packet(now, ReceiveMeta::default(), request);
        let mut world = Self {
            now,
            camera: End::new(client),
            viewer: End::new(server),
            lie: None,
            dice: Dice(rate),
            under_way: Default::default(),
            rate,
            free: now,
            next_frame: now + Duration::from_millis(200),
            next_lie: Instant::FAR_FUTURE,
            newest: Esi(0),
            answer: 0,
            number: 0,
            repeated: BTreeMap::new(),
            tally: Tally::default(),
        };
        world.run_for(START);
        assert!(world.counts().sent.reports > 10, "reports arrive");
        world
    }

    fn counts(&self) -> RepairCounts {
        self.camera.layer.counts().expect("both ends repair")
    }

    /// From now on the viewer lies.
    fn lie(&mut self, lie: Lie) {
        (self.tally.sent, self.tally.allowed) = (0, 0.0);
        (self.tally.accepted, self.tally.arrived) = (0, 0);
        if lie != Lie::None {
            (self.lie, self.next_lie) = (Some(lie), self.now);
        }
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.drain();
            let arrivals = self.under_way.iter().filter_map(|queue| queue.front()).map(|(at, _)| *at);
            let viewer = match self.lie {
                None => self.viewer.poll_timeout(),
                Some(_) => self.viewer.connection.poll_timeout(),
            };
            let wakes = [self.camera.poll_timeout(), viewer].into_iter().flatten();
            let next = arrivals.chain(wakes).chain([self.next_frame, self.next_lie, end]).min();
            let next = next.expect("a frame follows").max(self.now);
            if let Some(rate) = self.camera.connection.snapshot().sender.allowed_rate {
                self.tally.allowed += rate.as_bytes_per_second() * (next - self.now).as_secs_f64();
            }
            self.now = next;
            if next >= end {
                return;
            }
            self.advance();
        }
    }

    fn advance(&mut self) {
        let now = self.now;
        self.camera.handle_timeout(now);
        match self.lie {
            None => self.viewer.handle_timeout(now),
            Some(_) => self.viewer.connection.handle_timeout(now),
        }
        for (to, queue) in self.under_way.iter_mut().enumerate() {
            let end = if to == 0 { &mut self.viewer } else { &mut self.camera };
            while queue.front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, packet)) = queue.pop_front() else { break };
                end.connection.handle_packet(now, ReceiveMeta::default(), packet);
            }
        }
        if now >= self.next_frame {
            self.next_frame = now + INTERVAL;
            for index in 0..PARTS {
                let datagram = Datagram::new(Bytes::from(vec![7; SIZE])).with_mark(Mark::part(index, PARTS));
                let sent = self.camera.layer.send(now, &mut self.camera.connection, datagram);
                self.tally.accepted += u64::from(sent.is_ok());
            }
        }
        if let Some(lie) = self.lie.filter(|_| now >= self.next_lie) {
            self.next_lie = now + if lie == Lie::Seldom { ROUND_TRIP } else { Duration::from_millis(1) };
            if lie != Lie::Silent && !lie.follows_arrivals() {
                self.report(lie);
            }
        }
    }

    fn drain(&mut self) {
        let now = self.now;
        for count in 0.. {
            assert!(count < 10_000, "the camera does not stop sending: a livelock");
            // The layer acts on what has left before the next packet.
            while let Some(event) = self.camera.poll_event(now) {
                self.tally.starts += u64::from(matches!(event, Event::NewStartNeeded { .. }));
            }
            let Some(transmit) = self.camera.connection.poll_transmit(now) else { break };
            self.leave(transmit.packet);
        }
        loop {
            match self.lie {
                None => while self.viewer.poll_event(now).is_some() {},
                Some(lie) => {
                    while let Some(event) = self.viewer.connection.poll_event() {
                        if let Event::Datagram { payload, .. } = event {
                            self.arrive(lie, &payload.to_bytes());
                        }
                    }
                }
            }
            let Some(transmit) = self.viewer.connection.poll_transmit(now) else { break };
            self.under_way[1].push_back((now + DELAY, transmit.packet));
        }
        let waiting = self.camera.connection.snapshot().queued_datagrams;
        self.tally.most_waiting = self.tally.most_waiting.max(waiting);
    }

    /// A packet leaves the camera.
    fn leave(&mut self, packet: Packet) {
        let size = packet.encoded_len() as u64;
        if let Payload::Bytes(bytes) = &packet.payload
            && let Ok(datagram) = wire::Datagram::decode(bytes)
        {
            let length = bytes.len() as u64;
            self.tally.sent += length;
            match datagram {
                wire::Datagram::Source { answer: None, .. } => self.tally.source += length,
                wire::Datagram::Source { esi, .. } => {
                    self.tally.repeats += length;
                    if let Some(before) = self.repeated.insert(esi.0, self.now) {
                        let gap = self.now - before;
                        self.tally.least_gap = Some(self.tally.least_gap.map_or(gap, |least| least.min(gap)));
                    }
                    self.repeated.retain(|_, at| *at + LATENCY * 2 > self.now);
                }
                wire::Datagram::Repair { .. } => self.tally.coded += length,
                _ => {}
            }
        }
        if self.free > self.now + BUFFER {
            return;
        }
        self.free =
            self.free.max(self.now) + Duration::from_nanos((size + 28) * 8 * 1_000_000_000 / self.rate);
        self.under_way[0].push_back((self.free + DELAY, packet));
    }

    /// A datagram of the layer arrives at a viewer that lies.
    fn arrive(&mut self, lie: Lie, bytes: &[u8]) {
        match wire::Datagram::decode(bytes) {
            Ok(wire::Datagram::Source { answer, esi, .. }) => {
                if answer.is_none() {
                    self.tally.arrived += 1;
                    self.newest = esi;
                }
                self.answer = answer.map_or(self.answer, |answer| answer.number);
            }
            Ok(wire::Datagram::Repair { answer: Some(answer), .. }) => self.answer = answer.number,
            _ => {}
        }
        if lie.follows_arrivals() {
            self.report(lie);
        }
    }

    /// The viewer sends a report.
    fn report(&mut self, lie: Lie) {
        let mut random = |below: u64| self.dice.roll() % below;
        let lie = match lie {
            Lie::Mixed => Lie::ALL[2 + random(7) as usize],
            other => other,
        };
        self.number = if self.number == u8::MAX { 1 } else { self.number + 1 };
        let mut report = Report::new(self.number, self.newest.plus(1));
        (report.cause, report.echo, report.answer) = (Cause::Radio, Some(self.newest), self.answer);
        report.lead = 150_000_000;
        match lie {
            // A hold time that is longer than the round trip is refused.
            Lie::NoRoundTrip => {
                report.hold = ROUND_TRIP;
                report.answer = 1 + random(255) as u8;
            }
            // One of two numbers is taken for a later one than the newest answer's.
            Lie::Flood | Lie::Seldom => report.answer = 1 + random(255) as u8,
            Lie::LongRoundTrip => {
                report.echo = Some(self.newest.plus(100_u32.wrapping_neg()));
                report.lead = i64::MIN;
            }
            Lie::Unknown => {
                report.next = match random(4) {
                    0 => Esi(random(u64::MAX) as u32),
                    1 => self.newest.plus(random(1 << 20) as u32),
                    2 => self.newest.plus((random(1 << 20) as u32).wrapping_neg()),
                    _ => report.next,
                };
                report.echo = (random(2) == 0).then(|| report.next.plus(random(1 << 16) as u32));
                report.hold = Duration::from_micros(random(5_000_000));
                report.lead = random(u64::MAX) as i64;
                report.answer = random(256) as u8;
                report.lost = Some(random(1 << 16) as u16);
                report.lost_before = random(16) as u8;
                report.arrivals = u128::from(random(u64::MAX)) << 64;
            }
            _ => {}
        }
        report.first = report.next.plus(Report::MOST_WANTED.wrapping_neg());
        for back in 1..=Report::MOST_WANTED {
            report.want(report.next.plus(back.wrapping_neg()));
        }
        let mut bytes = Vec::new();
        report.encode(&mut bytes);
        if lie == Lie::Damaged {
            for _ in 0..1 + random(4) {
                let at = random(bytes.len() as u64) as usize;
                bytes[at] = random(256) as u8;
            }
            bytes.truncate(if random(4) == 0 { random(bytes.len() as u64) as usize } else { bytes.len() });
        }
        let sent = self.viewer.connection.send(self.now, Datagram::new(Bytes::from(bytes)));
        self.tally.reports += u64::from(sent.is_ok());
    }
}

/// Runs a viewer with each of the lies. Asserts what holds on any path; returns what is left to say.
fn run(rate: u64) -> impl Iterator<Item = (Lie, Tally)> {
    Lie::ALL.into_iter().map(move |lie| {
        let mut world = World::connected(rate);
        world.lie(lie);
        world.run_for(LIES);
        let heap = measure(|| world.run_for(LIES));
        let (tally, sent) = (world.tally.clone(), world.counts().sent);
        println!("{lie:?}: {tally:?} {sent:?} {} bytes kept, {} at most", heap.bytes_current, heap.bytes_max);
        let Tally { source, repeats, coded, sent: bytes, allowed, .. } = tally;
        assert!(bytes as f64 <= 1.01 * allowed + 10_000.0, "{lie:?}: {bytes} bytes, {allowed} allowed");
        // Both laws hold within a second, which is counted in 64 parts.
        let source = source + source / 64;
        assert!(coded <= source, "{lie:?}: {coded} bytes of coded packets for {source} of data");
        assert!(repeats <= REPEATS * source, "{lie:?}: {repeats} bytes of repeats for {source} of data");
        // A report brings what is live once more.
        assert!(sent.repeats <= tally.reports * LIVE, "{lie:?}: {} repeats", sent.repeats);
        if lie.has_true_times() {
            assert!(tally.least_gap.is_none_or(|gap| gap >= ROUND_TRIP), "{lie:?}: {:?}", tally.least_gap);
        }
        // An encoder is asked once within a round trip and 100 ms, and a round trip may be said to take none.
        assert!(tally.starts <= 10 * 16, "{lie:?}: {} new starts", tally.starts);
        assert!(tally.most_waiting <= 2, "{lie:?}: {} datagrams wait", tally.most_waiting);
        // Besides the packets on the path.
        let on_path = rate / 8 / 1000 * (DELAY + BUFFER).as_millis();
        let most = (64 << 10) + on_path as i64;
        assert!(heap.bytes_current.max(heap.bytes_max as i64) < most, "{lie:?}: {heap:?}");
        (lie, tally)
    })
}

/// Answers take the place of a part of the new data.
#[test]
fn new_data_goes_on_where_a_liar_fills_the_path() {
    let mut filled = 0;
    for (lie, Tally { accepted, arrived, source, repeats, coded, .. }) in run(SLOW) {
        let least =
            if matches!(lie, Lie::None | Lie::Silent) { accepted - PARTS as u64 } else { accepted / 2 };
        assert!(lie == Lie::None || arrived >= least, "{lie:?}: {arrived} of {accepted}");
        filled += u64::from(source + repeats + coded > SLOW / 8 * 15);
    }
    assert!(filled >= 6, "{filled} of the lies fill the path");
}

/// The source is the bound, where congestion control allows a multiple of it.
#[test]
fn a_liar_on_a_fast_path_gets_a_multiple_of_the_source_at_most() {
    let mut most = 0;
    for (lie, Tally { accepted, arrived, source, repeats, allowed, .. }) in run(FAST) {
        assert!(lie == Lie::None || arrived >= accepted - PARTS as u64, "{lie:?}: {arrived} of {accepted}");
        most = most.max(repeats * 10 / source);
        assert!(lie != Lie::Flood || allowed > 15.0 * source as f64, "the bound is not congestion control's");
    }
    assert!(most > 70, "no lie comes near the bound: {most} tenths of the source");
}
