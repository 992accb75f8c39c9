//! Two connections under CCID 252, with a path of 50 ms each way between them.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::{self as wire, EcnCounts, TfrcOption};
use whimbrel_wire::option::{Elapsed, OptionBytes};
use whimbrel_wire::{DccpOption, Ecn, PacketType, SeqNo};

use super::*;
use crate::ccid::ccid3::tests::{RTT, SIZE, lossy, send_greedily};
use crate::ccid::{Feedback, Mechanism, Registry, SenderMarks, SentPacket as Packet};
use crate::connection::tests::pair::{End, Pair, SentPacket, Treatment};
use crate::{Config, FreezeScope};

fn config(ccid: Ccid) -> Config {
    Config {
        sender_ccids: [ccid].into(),
        receiver_ccids: [ccid].into(),
        ccids: Registry::default().with_delay_aware(),
        max_datagram: SIZE,
        ..Config::default()
    }
}

fn is_data(sent: &SentPacket) -> bool {
    sent.from == End::Client && matches!(sent.packet.packet_type(), PacketType::Data | PacketType::DataAck)
}

/// A drop-tail queue before a link, for the client's packets. Those without data take no time on the link and
/// are not dropped.
struct Queue {
    /// Capacity in bytes per second.
    rate: f64,
    /// Longest queueing delay, and additional propagation delay.
    longest: Duration,
    more: Duration,
    idle_from: Instant,
    /// Queueing delays of the packets that were not dropped.
    delays: Vec<Duration>,
}

impl Queue {
    fn attach(pair: &mut Pair, rate: f64, longest: Duration) -> Rc<RefCell<Self>> {
        let (more, delays) = (Duration::ZERO, Vec::new());
        let queue = Rc::new(RefCell::new(Self { rate, longest, more, idle_from: pair.now, delays }));
        let shared = queue.clone();
        pair.script = Box::new(move |sent| shared.borrow_mut().treat(sent));
        queue
    }

    fn treat(&mut self, sent: &SentPacket) -> Treatment {
        if sent.from != End::Client {
            return Treatment::Deliver;
        }
        let queueing = self.idle_from.saturating_since(sent.at);
        if !is_data(sent) {
            return Treatment::Delay(queueing + self.more);
        }
        if queueing > self.longest {
            return Treatment::Lose;
        }
        let transmission = Duration::from_secs_f64(SIZE as f64 / self.rate);
        self.idle_from = self.idle_from.max(sent.at) + transmission;
        self.delays.push(queueing);
        Treatment::Delay(queueing + transmission + self.more)
    }

    /// The queueing delay that 95 % of the packets do not exceed, and forgets them.
    fn percentile_95(&mut self) -> Duration {
        let mut delays = core::mem::take(&mut self.delays);
        delays.sort_unstable();
        delays[delays.len() * 95 / 100]
    }
}

fn greedy(pair: &mut Pair, seconds: u64) -> f64 {
    send_greedily(pair, End::Client, Duration::from_secs(seconds)).as_bytes_per_second()
}

#[test]
fn two_ends_that_have_it_agree_on_it_and_others_on_ccid_3() {
    let both = Config {
        sender_ccids: [Ccid::DELAY_AWARE, Ccid::TFRC].into(),
        receiver_ccids: [Ccid::DELAY_AWARE, Ccid::TFRC].into(),
        ..config(Ccid::DELAY_AWARE)
    };
    for (server, ccid) in [(both.clone(), Ccid::DELAY_AWARE), (Config::default(), Ccid::TFRC)] {
        let mut pair = Pair::connected_with(both.clone(), server);
        for tag in 0..20 {
            pair.send(End::Client, tag);
            pair.run_for(Duration::from_millis(100));
        }
        assert_eq!(pair.received(End::Server), (0..20).collect::<Vec<_>>());
        let snapshots = [pair.client.snapshot(), pair.server().snapshot()];
        assert!(snapshots.iter().all(|it| (it.sender_ccid, it.receiver_ccid) == (ccid, ccid)));
        let ecn = if ccid == Ccid::DELAY_AWARE { Ecn::Ect1 } else { Ecn::Ect0 };
        assert!(pair.sent.iter().filter(|sent| is_data(sent)).all(|sent| sent.ecn == ecn));
        let counts = |sent: &&SentPacket| {
            let is_counts =
                |it: &DccpOption| matches!(it, DccpOption::CcidSpecific { kind: wire::ECN_COUNTS, .. });
            sent.packet.options.iter().any(is_counts)
        };
        assert_eq!(pair.sent.iter().any(|sent| counts(&sent)), ccid == Ccid::DELAY_AWARE);
    }
}

#[test]
fn marks_are_reported_and_are_no_loss_events() {
    for (ccid, p) in [(Ccid::DELAY_AWARE, 0.0), (Ccid::TFRC, 0.05)] {
        let mut pair = Pair::connected(config(ccid));
        let (mut count, marked) = (0u64, Rc::new(RefCell::new(0)));
        let marks = marked.clone();
        pair.script = Box::new(move |sent| {
            count += u64::from(is_data(sent));
            let is_marked = is_data(sent) && count % 20 == 0;
            *marks.borrow_mut() += u64::from(is_marked);
            if is_marked { Treatment::Mark } else { Treatment::Deliver }
        });
        for tag in 0..400 {
            pair.send(End::Client, tag);
            pair.run_for(Duration::from_millis(50));
        }
        pair.run_for(Duration::from_secs(1));
        let (sender, receiver) = (pair.client.snapshot().sender, pair.server().snapshot().receiver);
        assert!((receiver.loss_event_rate.unwrap() - p).abs() < 0.003, "{receiver:?}");
        assert!((sender.loss_event_rate.unwrap() - p).abs() < 0.003, "{sender:?}");
        assert_eq!(receiver.marked, *marked.borrow());
        if ccid == Ccid::DELAY_AWARE {
            assert_eq!((sender.marked, sender.lost), (*marked.borrow(), 0));
        }
        let reported =
            pair.sent.iter().flat_map(|sent| &sent.packet.options).filter_map(
                |option| match TfrcOption::parse(option) {
                    Some(TfrcOption::EcnCounts(counts)) => Some(counts),
                    _ => None,
                },
            );
        let sum =
            reported.fold((0, 0), |sum, it| (sum.0 + u64::from(it.marked), sum.1 + u64::from(it.received)));
        let expected = if ccid == Ccid::DELAY_AWARE { (*marked.borrow(), 400) } else { (0, 0) };
        assert_eq!(sum, expected);
    }
}

/// The target is 25 ms. CCID 3 fills the queue of 400 ms until packets are lost.
#[test]
fn the_queue_stays_below_the_target_and_the_link_is_used() {
    for rate in [125e3, 500e3] {
        let run = |ccid| {
            let mut pair = Pair::connected(config(ccid));
            let queue = Queue::attach(&mut pair, rate, Duration::from_millis(400));
            greedy(&mut pair, 20);
            queue.borrow_mut().delays.clear();
            let used = greedy(&mut pair, 40) / rate;
            let delay = queue.borrow_mut().percentile_95();
            (used, delay, pair.client.snapshot().sender.lost)
        };
        let (used, delay, lost) = run(Ccid::DELAY_AWARE);
        assert!(used > 0.98 && lost == 0, "{rate}: {used} of the link, {lost} lost");
        // A packet before this one on the link, and half of one that is under way, are beyond the control of
        // the law.
        let packet = SIZE as f64 / rate;
        assert!((8e-3..25e-3 + 1.5 * packet).contains(&delay.as_secs_f64()), "{rate}: {delay:?}");
        let (_, delay, lost) = run(Ccid::TFRC);
        assert!(delay > Duration::from_millis(150) && lost > 0, "{rate}: {delay:?}");
    }
}

/// Two marks in a round-trip time: X = 2 s / (p R).
#[test]
fn the_rate_is_in_proportion_to_the_share_of_marks() {
    for (p, seed) in [(0.05, 3), (0.1, 4), (0.2, 5)] {
        let mut pair = Pair::connected(config(Ccid::DELAY_AWARE));
        let mut draw = lossy(p, seed);
        pair.script = Box::new(move |sent| match draw(sent) {
            Treatment::Lose => Treatment::Mark,
            other => other,
        });
        greedy(&mut pair, 20);
        let packets = greedy(&mut pair, 120) / SIZE as f64 * RTT.as_secs_f64();
        let law = 2.0 / p;
        assert!(
            (0.95..1.05).contains(&(packets / law)),
            "{p}: {packets} packets per round-trip time, not {law}"
        );
    }
}

#[test]
fn with_losses_and_without_a_queue_the_rate_is_that_of_ccid_3() {
    // From the start, and after a queue.
    for (loss, seed, before) in [(0.01, 11, 0), (0.05, 13, 0), (0.01, 11, 20), (0.05, 13, 20)] {
        let [aware, tfrc] = [Ccid::DELAY_AWARE, Ccid::TFRC].map(|ccid| {
            let mut pair = Pair::connected(config(ccid));
            let _queue = Queue::attach(&mut pair, 250e3, Duration::from_millis(400));
            greedy(&mut pair, before);
            pair.script = lossy(loss, seed);
            greedy(&mut pair, 30);
            greedy(&mut pair, 200)
        });
        assert!((0.9..1.05).contains(&(aware / tfrc)), "{loss}: {aware} and {tfrc} byte/s");
    }
}

#[test]
fn after_a_freeze_the_least_delay_is_that_of_the_new_path() {
    let mut config = config(Ccid::DELAY_AWARE);
    config.freeze.offer = true;
    let mut pair = Pair::connected(config);
    let queue = Queue::attach(&mut pair, 250e3, Duration::from_millis(400));
    greedy(&mut pair, 20);
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Both);
    pair.run_for(Duration::from_secs(2));
    // A longer path, with a delay that would pass for a full queue.
    queue.borrow_mut().more = Duration::from_millis(120);
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Both);
    let early = greedy(&mut pair, 5) / 250e3;
    assert!(early > 0.7, "{early} of the link in the first 5 s");
    greedy(&mut pair, 15);
    queue.borrow_mut().delays.clear();
    let used = greedy(&mut pair, 20) / 250e3;
    let delay = queue.borrow_mut().percentile_95();
    assert!(used > 0.9, "{used} of the link");
    assert!(delay < Duration::from_millis(35), "{delay:?}");
}

#[test]
fn after_a_pause_the_rate_returns_as_with_ccid_3() {
    let [aware, tfrc] = [Ccid::DELAY_AWARE, Ccid::TFRC].map(|ccid| {
        let mut pair = Pair::connected(config(ccid));
        let _queue = Queue::attach(&mut pair, 500e3, Duration::from_millis(400));
        greedy(&mut pair, 20);
        pair.run_for(Duration::from_secs(30));
        greedy(&mut pair, 3)
    });
    assert!(aware > 0.7 * tfrc, "{aware} and {tfrc} byte/s");
}

fn option(kind: u8, data: &[u8]) -> DccpOption {
    DccpOption::CcidSpecific { kind, data: OptionBytes::from_slice(data) }
}

proptest! {
    /// Reports by a peer of any intent: the rate stays a number, above zero.
    #[test]
    fn no_report_breaks_the_sender(
        reports in proptest::collection::vec(
            (0u64..400, 0u64..40, any::<u32>(), proptest::collection::vec(any::<u8>(), 0..8), any::<u32>()),
            1..60,
        ),
    ) {
        let config = config(Ccid::DELAY_AWARE);
        let half = config.half_connection(Instant::ZERO, SIZE, Some(RTT), SeqNo::new(1));
        let mut sender = mechanism().sender(&half);
        let (mut now, mut next) = (Instant::ZERO, 1);
        for (time, packets, rate, counts, elapsed) in reports {
            for _ in 0..packets {
                let packet = Packet {
                    sequence: SeqNo::new(next),
                    packet_type: PacketType::Data,
                    payload: SIZE,
                    more_queued: true,
                };
                sender.on_sent(now, packet, SenderMarks { ccval: &mut 0, options: &mut Default::default() });
                next += 1;
            }
            now += Duration::from_millis(time);
            sender.handle_timeout(now);
            let options = [
                DccpOption::ElapsedTime(Elapsed::from_nanos(u64::from(elapsed))),
                wire::receive_rate(rate),
                wire::loss_event_rate(wire::NO_LOSS_EVENT),
                option(wire::ECN_COUNTS, &counts),
            ];
            let feedback = Feedback {
                ack: SeqNo::new(next - 1),
                sequence: SeqNo::new(5_000_000 + now.as_nanos()),
                packet_type: PacketType::Ack,
                options: &options,
                ack_vector: &[],
                data_dropped: &[],
                timestamp_rtt: None,
            };
            sender.on_feedback(now, &feedback);
            let rate = sender.snapshot().allowed_rate.unwrap().as_bytes_per_second();
            prop_assert!(rate.is_finite() && rate > 0.0, "{rate}");
        }
    }
}

#[test]
fn a_report_with_more_marked_than_received_packets_has_no_counts() {
    assert_eq!(TfrcOption::parse(&option(wire::ECN_COUNTS, &[0, 0, 9, 0, 0, 8])), None);
    let counts = EcnCounts { marked: 8, received: 8 };
    assert_eq!(TfrcOption::parse(&counts.to_option()), Some(TfrcOption::EcnCounts(counts)));
}
