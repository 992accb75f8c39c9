//! Two connections under CCID 3.

mod differentiation;
mod path;
mod saturation;

use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout, throughput};
use whimbrel_units::{ByteCount, DataRate, Duration};
use whimbrel_wire::{PacketType, Payload, SeqNo};

use super::*;
use crate::ccid::Registry;
use crate::config::TfrcConfig;
use crate::connection::tests::pair::{End, Pair, Treatment};
use crate::{Config, Datagram, SenderSnapshot};

pub(in crate::ccid) const SIZE: usize = 1000;
/// The pair's path: 50 ms each way.
pub(in crate::ccid) const RTT: Duration = Duration::from_millis(100);

/// Knuth's MMIX linear congruential generator.
struct Lcg(u64);

impl Lcg {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn config(tfrc: TfrcConfig) -> Config {
    Config {
        sender_ccids: [Ccid::TFRC].into(),
        receiver_ccids: [Ccid::TFRC].into(),
        ccids: Registry::empty().with(Tfrc { config: tfrc, ..mechanism() }),
        max_datagram: SIZE,
        ..Config::default()
    }
}

/// By the window counter and Loss Intervals alone, or with all that can be negotiated.
fn plain() -> TfrcConfig {
    TfrcConfig { send_loss_event_rate: false, send_rtt_estimate: false, ..TfrcConfig::default() }
}

fn all() -> TfrcConfig {
    TfrcConfig { send_loss_event_rate: true, send_rtt_estimate: true, ..TfrcConfig::default() }
}

/// Keeps `from`'s send queue filled for `time`; data sent in it per time.
pub(in crate::ccid) fn send_greedily(pair: &mut Pair, from: End, time: Duration) -> DataRate {
    let end = pair.now + time;
    let before = pair.end(from).snapshot().statistics.bytes_sent;
    while pair.now < end {
        while pair.end(from).snapshot().queued_datagrams < 60 {
            let now = pair.now;
            let datagram = Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 });
            pair.end(from).send(now, datagram).expect("the queue drops its oldest");
        }
        pair.run_for(Duration::from_millis(20));
        pair.forget();
    }
    let sent = pair.end(from).snapshot().statistics.bytes_sent - before;
    ByteCount::new(sent) / time
}

/// Loses the client's data packets with probability `loss`.
pub(in crate::ccid) fn lossy(
    loss: f64,
    seed: u64,
) -> Box<dyn FnMut(&crate::connection::tests::pair::SentPacket) -> Treatment> {
    let mut lcg = Lcg(seed);
    Box::new(move |sent| {
        let is_data = sent.from == End::Client
            && matches!(sent.packet.packet_type(), PacketType::Data | PacketType::DataAck);
        if is_data && lcg.fraction() < loss { Treatment::Lose } else { Treatment::Deliver }
    })
}

/// In slow start the rate is twice the receive rate. The receive rate of the last round-trip time is the rate
/// of the one before, so that the rate doubles in two.
#[test]
fn before_the_first_loss_the_rate_doubles_in_two_round_trips() {
    let mut pair = Pair::connected(config(all()));
    let rate = |pair: &Pair| pair.client.snapshot().sender.allowed_rate.unwrap().as_bytes_per_second();
    send_greedily(&mut pair, End::Client, RTT * 5);
    let mut before = rate(&pair);
    // The rate after these is 25.6 Mbit/s. At 60 datagrams every 20 ms, the source offers 24.
    for _ in 0..2 {
        send_greedily(&mut pair, End::Client, RTT * 2);
        let ratio = rate(&pair) / before;
        assert!((1.9..=2.05).contains(&ratio), "{ratio}");
        before = rate(&pair);
    }
    assert_eq!(pair.client.snapshot().sender.loss_event_rate, Some(0.0));
}

/// Loss Intervals cover what a lost report has covered.
#[test]
fn lost_reports_do_not_slow_the_sender() {
    let rate = |lost_reports: u32| {
        let mut pair = Pair::connected(config(all()));
        let (mut data, mut reports) = (0, 0);
        pair.lose(move |sent| {
            let is_report = sent.from == End::Server && sent.packet.packet_type() == PacketType::Ack;
            data += u32::from(sent.from == End::Client && sent.packet.packet_type() == PacketType::Data);
            reports += u32::from(is_report);
            match sent.from {
                End::Client => sent.packet.packet_type() == PacketType::Data && data % 200 == 0,
                End::Server => is_report && lost_reports > 0 && reports % lost_reports == 0,
            }
        });
        send_greedily(&mut pair, End::Client, Duration::from_secs(30));
        send_greedily(&mut pair, End::Client, Duration::from_secs(120)).as_bytes_per_second()
    };
    let (all_arrive, some_lost) = (rate(0), rate(100));
    assert!(
        (0.95..1.05).contains(&(some_lost / all_arrive)),
        "{some_lost}, and {all_arrive} with all reports"
    );
}

/// The rate at which data leaves at a loss rate, against what the equation gives at the measured p.
fn settles_on_the_equation(tfrc: TfrcConfig) {
    for (loss, seed) in [(0.01, 11), (0.02, 12), (0.05, 13)] {
        let mut pair = Pair::connected(config(tfrc));
        pair.script = lossy(loss, seed);
        send_greedily(&mut pair, End::Client, Duration::from_secs(60));
        let (mut rate, mut p, mut samples) = (0.0, 0.0, 0.0);
        for _ in 0..400 {
            rate += send_greedily(&mut pair, End::Client, Duration::from_millis(1000)).as_bytes_per_second();
            p += pair.client.snapshot().sender.loss_event_rate.unwrap();
            samples += 1.0;
        }
        let p = LossEventRate::new(p / samples);
        let expected = throughput(ByteCount::new(SIZE as u64), RTT, p, RetransmitTimeout::FourRoundTrips);
        let ratio = rate / samples / expected.as_bytes_per_second();
        assert!((0.9..1.12).contains(&ratio), "loss {loss}, p {p}: {ratio} of the equation");
        let measured = p.as_f64() / loss;
        assert!((0.75..1.1).contains(&measured), "loss {loss}: p {p}");
    }
}

#[test]
fn by_the_window_counter_it_settles_on_the_throughput_equation() {
    settles_on_the_equation(plain());
}

#[test]
fn with_the_round_trip_time_reported_it_settles_there_too() {
    settles_on_the_equation(all());
}

/// After 20 seconds of silence: how long until the rate is what it was, on a path with a loss before it.
fn recovers_in(faster_restart: Option<Duration>) -> Duration {
    let mut pair = Pair::connected(config(TfrcConfig { faster_restart, ..all() }));
    send_greedily(&mut pair, End::Client, RTT * 30);
    let mut lost = false;
    pair.script = Box::new(move |sent| {
        let is_data = sent.from == End::Client && sent.packet.packet_type() == PacketType::Data;
        if is_data && !core::mem::replace(&mut lost, true) { Treatment::Lose } else { Treatment::Deliver }
    });
    send_greedily(&mut pair, End::Client, RTT * 50);
    let rate = |pair: &Pair| pair.client.snapshot().sender.allowed_rate.unwrap();
    let before = rate(&pair);
    pair.run_for(Duration::from_secs(20));
    assert!(rate(&pair) < before / 4.0, "{} of {before}", rate(&pair));
    let start = pair.now;
    while rate(&pair) < before * 0.5 {
        send_greedily(&mut pair, End::Client, Duration::from_millis(20));
        assert!(pair.now < start + Duration::from_secs(20), "{} of {before}", rate(&pair));
    }
    pair.now - start
}

/// draft-ietf-dccp-tfrc-faster-restart-06: twice the initial rate to begin with, and quadrupling.
#[test]
fn with_faster_restart_silence_costs_less() {
    let (plain, faster) = (recovers_in(None), recovers_in(Some(Duration::from_secs(120))));
    assert!(faster.as_nanos() * 3 < plain.as_nanos() * 2, "{faster:?} against {plain:?}");
}

#[test]
fn both_ends_can_send_at_once() {
    let mut pair = Pair::connected(config(all()));
    pair.script = lossy(0.02, 5);
    for _ in 0..300 {
        send_greedily(&mut pair, End::Client, RTT);
        send_greedily(&mut pair, End::Server, RTT);
    }
    let snapshot = |sender: SenderSnapshot| sender.loss_event_rate.unwrap();
    assert!(snapshot(pair.client.snapshot().sender) > 0.0);
    // The acknowledgements of the server's data that were lost among the client's packets, or rather
    // the data packets lost among its acknowledgements, are not the server's losses.
    assert_eq!(snapshot(pair.server().snapshot().sender), 0.0);
}

/// Acks of the other half-connection share the sequence numbers. Lost, they are no lost data,
/// because NDP Count says so (RFC 4340, Section 7.7).
#[test]
fn lost_acknowledgements_are_no_losses() {
    let mut pair = Pair::connected(config(all()));
    let mut count = 0;
    pair.script = Box::new(move |sent| {
        let is_ack = sent.from == End::Client && sent.packet.packet_type() == PacketType::Ack;
        count += u64::from(is_ack);
        if is_ack && count % 3 == 0 { Treatment::Lose } else { Treatment::Deliver }
    });
    for _ in 0..100 {
        let now = pair.now;
        for end in [End::Client, End::Server] {
            let datagram = Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 });
            pair.end(end).send(now, datagram).unwrap();
        }
        pair.run_for(Duration::from_millis(70));
    }
    let acks = pair.sent_by(End::Client, PacketType::Ack).len();
    assert!(acks > 20, "{acks}");
    assert_eq!(pair.server().snapshot().receiver.loss_event_rate, Some(0.0));
}

#[test]
fn marks_slow_it_down_without_loss() {
    let mut pair = Pair::connected(config(all()));
    let mut lcg = Lcg(3);
    pair.script = Box::new(move |sent| {
        let marked = sent.from == End::Client && lcg.fraction() < 0.02;
        if marked { Treatment::Mark } else { Treatment::Deliver }
    });
    send_greedily(&mut pair, End::Client, Duration::from_secs(20));
    let mut p = 0.0;
    for _ in 0..200 {
        send_greedily(&mut pair, End::Client, Duration::from_secs(1));
        p += pair.server().snapshot().receiver.loss_event_rate.unwrap() / 200.0;
    }
    let receiver = pair.server().snapshot().receiver;
    assert_eq!(receiver.lost, 0);
    assert!(receiver.marked > 200);
    assert!((0.015..0.022).contains(&p), "{p}");
}

#[test]
fn silence_halves_the_rate_and_feedback_brings_it_back() {
    let mut pair = Pair::connected(config(all()));
    pair.script = lossy(0.01, 21);
    send_greedily(&mut pair, End::Client, Duration::from_secs(60));
    let rate = |pair: &Pair| pair.client.snapshot().sender.allowed_rate.unwrap();
    let before = rate(&pair);
    pair.lose(|_| true);
    send_greedily(&mut pair, End::Client, Duration::from_secs(3));
    let cut = rate(&pair);
    assert!(cut < before / 8.0, "{before} became {cut}");
    pair.deliver_all();
    send_greedily(&mut pair, End::Client, Duration::from_secs(20));
    assert!(rate(&pair) > before / 2.0, "{before} became {}", rate(&pair));
}

#[test]
fn an_application_that_sends_little_is_not_slowed_and_may_burst_after() {
    let mut pair = Pair::connected(config(all()));
    pair.script = lossy(0.005, 2);
    send_greedily(&mut pair, End::Client, Duration::from_secs(60));
    pair.deliver_all();
    let before = pair.client.snapshot().sender.allowed_rate.unwrap();
    for _ in 0..200 {
        let now = pair.now;
        pair.end(End::Client)
            .send(now, Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 }))
            .unwrap();
        pair.run_for(Duration::from_millis(50));
    }
    let after = pair.client.snapshot().sender.allowed_rate.unwrap();
    assert!(after >= before * 0.9, "{before} became {after}");
}

#[test]
fn feedback_comes_about_once_per_round_trip() {
    for tfrc in [plain(), all()] {
        let mut pair = Pair::connected(config(tfrc));
        let acks = std::rc::Rc::new(std::cell::Cell::new(0));
        let count = acks.clone();
        pair.script = Box::new(move |sent| {
            if sent.from == End::Server && sent.packet.packet_type() == PacketType::Ack {
                count.set(count.get() + 1);
            }
            Treatment::Deliver
        });
        // 20 packets per round-trip time, far below what is allowed after a second.
        for _ in 0..2000 {
            let now = pair.now;
            pair.end(End::Client)
                .send(now, Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 }))
                .unwrap();
            pair.run_for(Duration::from_millis(5));
        }
        assert!((95..=110).contains(&acks.get()), "{} in 100 round-trip times", acks.get());
    }
}
