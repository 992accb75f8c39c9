//! Both ends under bursts, full buffers, closed viewers, losses, reconnections: sent = delivered + reasons.

use super::*;
use crate::edge::ledger::streams::{Direction, StreamFigures};

/// Datagrams that wait for the relay, in the transport's queue, and for the receiving end.
const INTAKE: usize = 20;
const TRANSPORT: usize = 4;
const INBOX: usize = 12;
/// The largest datagram of the path.
const LARGEST: usize = 100;
/// One-way delay, in steps of 10 ms.
const DELAY: u64 = 3;

#[derive(Clone, Debug)]
enum Act {
    /// The camera sends datagrams of that size, of frames or others; the kernel drops some more.
    Burst {
        count: u8,
        size: u8,
        is_rtp: bool,
        kernel: u8,
    },
    /// The path carries so many datagrams in a step, and loses each one in so many.
    Path {
        steps: u8,
        rate: u8,
        loss: u8,
    },
    /// The viewer is there, or not; the camera, which takes the viewer's answers.
    Viewer(bool),
    Camera(bool),
    /// The other end does not have the port, or its system refuses to send.
    Fault {
        unknown: bool,
        undeliverable: bool,
    },
    /// Neither relay runs for some steps.
    Stall(u8),
    /// The path carries no more than half of the largest datagram: what waits and is larger does not leave.
    Narrow,
    Reconnect {
        absent: u8,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..40u8, 1..=110u8, any::<bool>(), 0..3u8)
            .prop_map(|(count, size, is_rtp, kernel)| Act::Burst { count, size, is_rtp, kernel }),
        8 => (1..60u8, 0..6u8, 2..40u8).prop_map(|(steps, rate, loss)| Act::Path { steps, rate, loss }),
        3 => any::<bool>().prop_map(Act::Viewer),
        3 => any::<bool>().prop_map(Act::Camera),
        2 => any::<(bool, bool)>().prop_map(|(unknown, undeliverable)| Act::Fault { unknown, undeliverable }),
        2 => (1..30u8).prop_map(Act::Stall),
        2 => Just(Act::Narrow),
    ];
    prop::collection::vec(act, 1..40)
}

/// True fate of the camera's datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Truth {
    sent: u64,
    delivered: u64,
    kernel: u64,
    overrun: u64,
    unconnected: u64,
    too_large: u64,
    path: u64,
    unread: u64,
    unknown: u64,
    refused: u64,
    undeliverable: u64,
}

/// One direction of the transport.
#[derive(Debug, Default)]
struct Way {
    queue: VecDeque<(Bytes, Option<Instant>)>,
    /// Datagrams on the path, with the step of their arrival.
    path: VecDeque<(u64, Bytes)>,
    inbox: VecDeque<Bytes>,
    withdrawn: u64,
    narrowed: u64,
    unread: u64,
    count: u64,
}

fn is_report(bytes: &Bytes) -> bool {
    bytes[0] == report::HEADER.port
}

impl Way {
    /// Moves datagrams for a step. Returns how many of programs' datagrams were lost on the path, and how
    /// many for lack of room.
    fn step(&mut self, step: u64, rate: u8, loss: u8) -> (u64, u64) {
        let (now, mut lost, mut unread) = (ms(10 * step), 0, 0);
        for _ in 0..rate {
            while self.queue.front().is_some_and(|(_, deadline)| deadline.is_some_and(|it| it <= now)) {
                self.queue.pop_front();
                self.withdrawn += 1;
            }
            let Some((bytes, _)) = self.queue.pop_front() else { break };
            self.count += 1;
            if self.count.is_multiple_of(loss.into()) {
                lost += u64::from(!is_report(&bytes));
                continue;
            }
            self.path.push_back((step + DELAY, bytes));
            // Each fifth overtakes the one before.
            let last = self.path.len() - 1;
            if self.count.is_multiple_of(5) && last > 0 {
                self.path.swap(last - 1, last);
            }
        }
        while self.path.front().is_some_and(|(at, _)| *at <= step) {
            let Some((_, bytes)) = self.path.pop_front() else { break };
            // Reports always find room; only programs' datagrams are counted.
            if self.inbox.len() >= INBOX && !is_report(&bytes) {
                (self.unread, unread) = (self.unread + 1, unread + 1);
            } else {
                self.inbox.push_back(bytes);
            }
        }
        (lost, unread)
    }
}

fn end(announces: bool, ledger: Ledger) -> Carriage {
    Carriage::new(STALE, Announcement::default(), announces, ledger, Room::default())
}

/// A camera, two ends and a viewer.
struct World {
    step: u64,
    near: Carriage,
    far: Carriage,
    ledger: Ledger,
    /// Sums of the far end's connections that have ended.
    past: Sums,
    ways: [Way; 2],
    intake: VecDeque<Vec<u8>>,
    sequence: u32,
    has_viewer: bool,
    has_camera: bool,
    /// Refusals of answers of which the near end's system has not said anything yet.
    untold: u64,
    fault: (bool, bool),
    is_connected: bool,
    /// Datagrams that were passed on in connections that ended without a report: as to an end of an earlier
    /// version, those that no loss was noticed of count as delivered.
    unreported: u64,
    truth: Truth,
    /// Of the viewer's answers.
    answers: Truth,
}

impl World {
    fn new() -> Self {
        let ledger = Ledger::default();
        Self {
            step: 0,
            near: end(true, ledger.clone()),
            far: end(false, Ledger::default()),
            ledger,
            past: Sums::default(),
            ways: Default::default(),
            intake: VecDeque::new(),
            sequence: 0,
            has_viewer: true,
            has_camera: true,
            untold: 0,
            fault: (false, false),
            is_connected: true,
            unreported: 0,
            truth: Truth::default(),
            answers: Truth::default(),
        }
    }

    fn burst(&mut self, count: u8, size: u8, is_rtp: bool, kernel: u8) {
        self.truth.sent += u64::from(count) + u64::from(kernel);
        self.truth.kernel += u64::from(kernel);
        self.ledger.on_kernel_drops(kernel.into());
        for _ in 0..count {
            self.ledger.on_sent();
            let n = self.sequence;
            self.sequence += 1;
            let mut datagram = vec![7; usize::from(size)];
            if is_rtp && datagram.len() >= 12 {
                let marker = if n % 4 == 3 { 0xe0 } else { 0x60 };
                datagram[..4].copy_from_slice(&[0x80, marker, (n >> 8) as u8, n as u8]);
                datagram[4..8].copy_from_slice(&(n / 4 * 3600).to_be_bytes());
                datagram[8..12].copy_from_slice(&[0, 0, 0, 9]);
            }
            if !self.is_connected {
                self.truth.unconnected += 1;
                self.ledger.lose(Reason::Unconnected, 1);
            } else if self.intake.len() == INTAKE {
                self.truth.overrun += 1;
                self.ledger.lose(Reason::Overrun, 1);
            } else {
                self.intake.push_back(datagram);
            }
        }
    }

    /// The ends run, and the path carries.
    fn step(&mut self, rate: u8, loss: u8, runs: bool) {
        self.step += 1;
        let now = ms(10 * self.step);
        let (lost, unread) = self.ways[0].step(self.step, rate, loss);
        self.truth.path += lost;
        self.truth.unread += unread;
        let (lost, unread) = self.ways[1].step(self.step, rate, loss);
        self.answers.path += lost;
        self.answers.unread += unread;
        if self.step.is_multiple_of(7) {
            self.ledger.lose_arrived(FLOW.port, Reason::Refused, std::mem::take(&mut self.untold));
        }
        if runs {
            while let Some(datagram) = self.intake.pop_front() {
                self.near.take(now, FLOW, &datagram);
            }
            self.send(now);
            self.receive(now);
        }
        // Nothing is counted twice.
        let sums = self.ledger.sums();
        for account in [sums.to_peer, sums.from_peer] {
            assert!(account.delivered + account.lost.sum() <= account.sent, "{account:?}");
        }
    }

    fn send(&mut self, now: Instant) {
        for (own, end) in [&mut self.near, &mut self.far].into_iter().enumerate() {
            let observed = Observed {
                withdrawn: self.ways[own].withdrawn,
                narrowed: self.ways[own].narrowed,
                unread: self.ways[1 - own].unread,
                ..Observed::default()
            };
            end.update(now, Some(observed));
            let (queue, truth) = (&mut self.ways[own].queue, &mut self.truth);
            let transport = |bytes: Bytes, deadline, _| {
                if bytes.len() - HEADER > LARGEST && !is_report(&bytes) {
                    truth.too_large += 1;
                    // No part fits, either.
                    return Ok(Handed::TooLarge(0));
                }
                if queue.len() == TRANSPORT {
                    return Ok::<_, ()>(Handed::Later);
                }
                queue.push_back((bytes, deadline));
                Ok(Handed::Accepted)
            };
            assert_eq!(end.send(now, 32, || Some(observed), transport), Ok(()));
        }
    }

    fn receive(&mut self, now: Instant) {
        // The far end takes a few at a time.
        for _ in 0..8 {
            let Some(bytes) = self.ways[0].inbox.pop_front() else { break };
            let Some(arrival) = self.far.receive(now, bytes, false) else { continue };
            assert_eq!(arrival.flow, FLOW);
            let (count, delivery) = match self.fault {
                (true, _) => (&mut self.truth.unknown, Delivery::UnknownFlow),
                (_, true) => (&mut self.truth.undeliverable, Delivery::Undeliverable),
                _ if self.has_viewer => (&mut self.truth.delivered, Delivery::Passed),
                _ => {
                    self.far.ledger().lose_arrived(FLOW.port, Reason::Refused, 1);
                    (&mut self.truth.refused, Delivery::Passed)
                }
            };
            *count += 1;
            self.far.on_delivery(FLOW, delivery);
            if delivery == Delivery::Passed && self.has_viewer {
                // The viewer answers.
                self.answers.sent += 1;
                self.far.ledger().on_sent();
                self.far.take(now, FLOW, b"answer");
            }
        }
        while let Some(bytes) = self.ways[1].inbox.pop_front() {
            if self.near.receive(now, bytes, false).is_none() {
                continue;
            }
            self.near.on_delivery(FLOW, Delivery::Passed);
            if self.has_camera {
                self.answers.delivered += 1;
            } else {
                self.answers.refused += 1;
                self.untold += 1;
            }
        }
    }

    fn narrow(&mut self) {
        let way = &mut self.ways[0];
        let before = way.queue.len();
        way.queue.retain(|(bytes, _)| is_report(bytes) || bytes.len() <= LARGEST / 2);
        let dropped = (before - way.queue.len()) as u64;
        way.narrowed += dropped;
        self.truth.too_large += dropped;
    }

    fn reconnect(&mut self, absent: u8) {
        // Datagrams still in the intake.
        self.ledger.lose(Reason::Ended, self.intake.len() as u64);
        self.intake.clear();
        if !self.ledger.has_reports() {
            self.unreported += self.ledger.marks()[0];
        }
        let ledger = self.far.ledger().clone();
        self.near = end(true, Ledger::default());
        self.far = end(false, Ledger::default());
        self.past += ledger.sums();
        self.is_connected = false;
        self.burst(absent, 50, false, 0);
        self.is_connected = true;
        self.near = end(true, self.ledger.clone());
        self.ways = Default::default();
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Burst { count, size, is_rtp, kernel } => self.burst(count, size, is_rtp, kernel),
            Act::Path { steps, rate, loss } => (0..steps).for_each(|_| self.step(rate, loss, true)),
            Act::Viewer(is_there) => self.has_viewer = is_there,
            Act::Camera(is_there) => self.has_camera = is_there,
            Act::Fault { unknown, undeliverable } => self.fault = (unknown, undeliverable),
            Act::Stall(steps) => (0..steps).for_each(|_| self.step(2, u8::MAX, false)),
            Act::Narrow => self.narrow(),
            Act::Reconnect { absent } => self.reconnect(absent),
        }
    }

    /// Until all is settled and the last reports have arrived.
    fn rest(&mut self) -> Sums {
        (0..600).for_each(|_| self.step(5, u8::MAX, true));
        self.ledger.sums()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn each_datagram_is_delivered_or_lost_for_its_reason_and_both_ends_agree(acts in acts()) {
        let mut world = World::new();
        acts.iter().for_each(|act| world.act(act));
        let Sums { to_peer, .. } = world.rest();
        let lost = |reason: Reason| to_peer.lost[reason];
        prop_assert_eq!(to_peer.sent, to_peer.delivered + to_peer.lost.sum(), "{:?}", to_peer);
        let told = Truth {
            sent: to_peer.sent,
            delivered: to_peer.delivered,
            kernel: lost(Reason::Kernel),
            overrun: lost(Reason::Overrun),
            unconnected: lost(Reason::Unconnected),
            too_large: lost(Reason::TooLarge),
            path: lost(Reason::Path),
            unread: lost(Reason::Unread),
            unknown: lost(Reason::UnknownFlow),
            refused: lost(Reason::Refused),
            undeliverable: lost(Reason::Undeliverable),
        };
        prop_assert_eq!(told, world.truth);
        prop_assert_eq!(lost(Reason::Ended), 0);
        // The only stream has all that the relay has taken, and both ends say the same of it.
        let one = |ledger: &Ledger, direction| {
            let all = ledger.streams(None);
            let mut of = all.into_iter().filter(|each| each.direction == direction);
            (of.next(), of.count())
        };
        let (own, others) = one(&world.ledger, Direction::ToPeer);
        let taken = to_peer.sent - lost(Reason::Kernel) - lost(Reason::Overrun) - lost(Reason::Unconnected);
        prop_assert_eq!((own.map_or(0, |own| own.sent), others), (taken, 0));
        if let Some(own) = own {
            prop_assert_eq!(own.delivered, Some(to_peer.delivered));
            prop_assert_eq!(own.sent, to_peer.delivered + own.lost.sum(), "{:?}", own);
            let here = [Reason::Overflow, Reason::Undecodable, Reason::Disposable, Reason::UnknownFlow];
            let here = here.into_iter().chain([Reason::Refused, Reason::Undeliverable]);
            for reason in here {
                prop_assert_eq!(own.lost[reason], lost(reason));
            }
            let (far, _) = one(world.far.ledger(), Direction::FromPeer);
            let far = far.filter(|_| own.sent > own.lost[Reason::Stale]);
            let path = own.lost[Reason::Path];
            let is_same = |far: &StreamFigures| (far.delivered, far.lost[Reason::Path]) == (own.delivered, path);
            prop_assert!(far.is_none_or(|far| is_same(&far)), "{:?} {:?}", own, far);
        }
        let far = world.far.ledger().sums().from_peer;
        prop_assert_eq!(far.delivered, world.truth.delivered);
        prop_assert_eq!(far.sent, far.delivered + far.lost.sum());
        prop_assert_eq!(far.lost[Reason::Path], world.truth.path);
        prop_assert_eq!(far.lost[Reason::TooLarge], world.ways[0].narrowed);
        // The answers: the end that sends them learns from the other one which were refused.
        let answers = world.far.ledger().sums().to_peer;
        prop_assert_eq!(answers.sent, answers.delivered + answers.lost.sum(), "{:?}", answers);
        prop_assert_eq!(answers.sent, world.answers.sent);
        for account in [answers, world.ledger.sums().from_peer] {
            let told = [Reason::Refused, Reason::Path, Reason::Unread].map(|reason| account.lost[reason]);
            prop_assert_eq!(told, [world.answers.refused, world.answers.path, world.answers.unread]);
            prop_assert_eq!(account.delivered, world.answers.delivered);
        }
    }

    #[test]
    fn reconnections_lose_no_datagram_from_the_books(
        acts in prop::collection::vec((acts(), 0..30u8), 2..4),
    ) {
        let mut world = World::new();
        for (acts, absent) in acts {
            acts.iter().for_each(|act| world.act(act));
            world.act(&Act::Reconnect { absent });
        }
        let Sums { to_peer, .. } = world.rest();
        prop_assert_eq!(to_peer.sent, world.truth.sent);
        prop_assert_eq!(to_peer.sent, to_peer.delivered + to_peer.lost.sum(), "{:?}", to_peer);
        // The fate of what was on its way at an end is not known here.
        let ended = to_peer.lost[Reason::Ended];
        prop_assert!(to_peer.delivered <= world.truth.delivered + world.unreported);
        let known = to_peer.delivered + to_peer.lost[Reason::Path] + ended;
        prop_assert!(known >= world.truth.delivered + world.truth.path, "{} of {:?}", known, world.truth);
        prop_assert_eq!(to_peer.lost[Reason::Unconnected], world.truth.unconnected);
        prop_assert_eq!(to_peer.lost[Reason::Kernel], world.truth.kernel);
        let mut far = world.past.from_peer;
        far += world.far.ledger().sums().from_peer;
        prop_assert_eq!(far.delivered, world.truth.delivered);
        // Also what the system has said after the end of a connection.
        let answers = world.ledger.sums().from_peer;
        prop_assert_eq!(
            (answers.delivered, answers.lost[Reason::Refused]),
            (world.answers.delivered, world.answers.refused)
        );
    }
}
