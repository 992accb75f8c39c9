//! Two connections under CCID 4.

use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout, throughput};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::option::tfrc::{self, TfrcOption};
use whimbrel_wire::{DccpOption, PacketType, Payload, SeqNo};

use super::*;
use crate::ccid::Registry;
use crate::config::TfrcConfig;
use crate::connection::tests::pair::{End, Pair, SentPacket, Treatment};
use crate::{Config, Datagram};

mod options;

/// A voice packet.
const SIZE: usize = 160;
/// 160 of 196 bytes.
const SHARE: f64 = 160.0 / 196.0;
const TEN: Duration = Duration::from_millis(10);

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
        sender_ccids: [Ccid::TFRC_SP].into(),
        receiver_ccids: [Ccid::TFRC_SP].into(),
        ccids: Registry::empty().with(Tfrc { config: tfrc, ..mechanism() }),
        ..Config::default()
    }
}

/// By the window counter, Loss Intervals and Dropped Packets alone.
fn plain() -> TfrcConfig {
    TfrcConfig { send_loss_event_rate: false, send_rtt_estimate: false, ..TfrcConfig::default() }
}

fn is_data(sent: &SentPacket) -> bool {
    matches!(sent.packet.packet_type(), PacketType::Data | PacketType::DataAck)
}

/// Loses the client's data packets with probability `loss`.
fn lossy(loss: f64, seed: u64) -> Box<dyn FnMut(&SentPacket) -> Treatment> {
    let mut lcg = Lcg(seed);
    Box::new(move |sent| {
        let is_lost = sent.from == End::Client && is_data(sent) && lcg.fraction() < loss;
        if is_lost { Treatment::Lose } else { Treatment::Deliver }
    })
}

/// Keeps the client's send queue filled for `time`; data sent in it per time.
fn send_greedily(pair: &mut Pair, time: Duration) -> DataRate {
    let end = pair.now + time;
    let before = pair.client.snapshot().statistics.bytes_sent;
    while pair.now < end {
        while pair.client.snapshot().queued_datagrams < 60 {
            let now = pair.now;
            let datagram = Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 });
            pair.client.send(now, datagram).expect("the queue drops its oldest");
        }
        pair.run_for(Duration::from_millis(20));
        pair.forget();
    }
    ByteCount::new(pair.client.snapshot().statistics.bytes_sent - before) / time
}

/// The pair's path is 100 ms long: what the equation gives at 15 % and more is below 100 packets per second.
/// The average of what it gives for each p in force, in byte/s.
fn settles_on_the_equation(tfrc: TfrcConfig) {
    for (loss, seed) in [(0.15, 11), (0.2, 12)] {
        let mut pair = Pair::connected(config(tfrc));
        pair.script = lossy(loss, seed);
        send_greedily(&mut pair, Duration::from_secs(60));
        let (mut rate, mut equation, mut p_sum) = (0.0, 0.0, 0.0);
        const SECONDS: u32 = 500;
        for _ in 0..SECONDS {
            rate += send_greedily(&mut pair, Duration::from_secs(1)).as_bytes_per_second();
            let sender = pair.client.snapshot().sender;
            let p = LossEventRate::new(sender.loss_event_rate.unwrap());
            p_sum += p.as_f64();
            let segment = ByteCount::new(1460);
            let x = throughput(segment, sender.rtt.unwrap(), p, RetransmitTimeout::FourRoundTrips) * SHARE;
            equation += x.as_bytes_per_second().min(SIZE as f64 * 100.0);
        }
        let ratio = rate / equation;
        assert!((0.9..1.1).contains(&ratio), "loss {loss}: {ratio} of the equation");
        // Of n losses per round-trip time, intervals longer than two of them count once.
        let p = p_sum / f64::from(SECONDS) / loss;
        assert!((0.5..1.1).contains(&p), "loss {loss}: p is {p} of it");
    }
}

#[test]
fn by_drop_counts_alone_it_settles_on_the_equation_of_large_packets() {
    settles_on_the_equation(plain());
}

#[test]
fn with_all_options_it_settles_there_too() {
    settles_on_the_equation(TfrcConfig::default());
}

/// The sender counts what the receiver counts: by its own clock instead of the window counter's quarters.
#[test]
fn both_ends_find_the_same_loss_event_rate() {
    let mut pair = Pair::connected(config(plain()));
    pair.script = lossy(0.25, 3);
    send_greedily(&mut pair, Duration::from_secs(30));
    let (mut sender, mut receiver) = (0.0, 0.0);
    for _ in 0..300 {
        send_greedily(&mut pair, Duration::from_secs(1));
        sender += pair.client.snapshot().sender.loss_event_rate.unwrap();
        receiver += pair.server().snapshot().receiver.loss_event_rate.unwrap();
    }
    let ratio = sender / receiver;
    assert!((0.85..1.15).contains(&ratio), "{sender} against {receiver}");
}

/// RFC 4828, Section 4.3, on a path without loss: 100 packets per second, none closer than 10 ms, though the
/// application has a backlog and then none by turns.
#[test]
fn packets_are_10_ms_apart() {
    let mut pair = Pair::connected(config(TfrcConfig::default()));
    send_greedily(&mut pair, Duration::from_secs(5));
    let mut times = Vec::new();
    for round in 0..20 {
        let now = pair.now;
        for _ in 0..20 {
            let datagram = Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 });
            pair.client.send(now, datagram).unwrap();
        }
        pair.run_for(Duration::from_millis(if round % 2 == 0 { 500 } else { 95 }));
        times.extend(
            pair.sent.iter().filter(|sent| sent.from == End::Client && is_data(sent)).map(|sent| sent.at),
        );
        pair.forget();
    }
    assert!(times.len() > 200);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= TEN));
    let rate = send_greedily(&mut pair, Duration::from_secs(20)).as_bytes_per_second() / SIZE as f64;
    assert!((99.0..=100.1).contains(&rate), "{rate} packets per second");
}

/// RFC 5622, Section 8.7: every feedback packet has both options, over the same intervals.
#[test]
fn dropped_packets_go_with_loss_intervals() {
    let mut pair = Pair::connected(config(TfrcConfig::default()));
    pair.script = lossy(0.1, 8);
    send_greedily(&mut pair, Duration::from_secs(20));
    let mut seen = 0;
    for _ in 0..50 {
        let now = pair.now;
        let datagram = Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 });
        pair.client.send(now, datagram).unwrap();
        pair.run_for(Duration::from_millis(100));
        for sent in pair.sent.iter().filter(|sent| sent.from == End::Server) {
            let options: Vec<TfrcOption<'_>> =
                sent.packet.options.iter().filter_map(TfrcOption::parse).collect();
            let intervals = options.iter().find_map(|option| match option {
                TfrcOption::LossIntervals(intervals) => Some(intervals.iter().collect::<Vec<_>>()),
                _ => None,
            });
            let counts = options.iter().find_map(|option| match option {
                TfrcOption::DroppedPackets(counts) => Some(counts.iter().collect::<Vec<_>>()),
                _ => None,
            });
            assert_eq!(intervals.as_ref().map(Vec::len), counts.as_ref().map(Vec::len));
            for (interval, count) in intervals.into_iter().flatten().zip(counts.into_iter().flatten()) {
                assert!(count <= interval.loss_length, "{count} of {interval:?}");
                seen += 1;
            }
        }
        pair.forget();
    }
    assert!(seen > 100);
    // The counts report every loss to the sender: all that the receiver detected.
    let (sender, receiver) = (pair.client.snapshot().sender.lost, pair.server().snapshot().receiver.lost);
    assert!(sender.abs_diff(receiver) <= 3 && sender > 50, "{sender} and {receiver}");
}

#[test]
fn a_server_that_knows_ccid_3_only_gets_it() {
    let client = Config {
        sender_ccids: [Ccid::TFRC_SP, Ccid::TFRC].into(),
        receiver_ccids: [Ccid::TFRC_SP, Ccid::TFRC].into(),
        ..Config::default()
    };
    let server = Config {
        sender_ccids: [Ccid::TFRC].into(),
        receiver_ccids: [Ccid::TFRC].into(),
        ..Config::default()
    };
    let pair = Pair::connected_with(client.clone(), server);
    assert_eq!(pair.client.snapshot().sender_ccid, Ccid::TFRC);
    let pair = Pair::connected(client);
    assert_eq!(pair.client.snapshot().sender_ccid, Ccid::TFRC_SP);
    assert_eq!(pair.server().snapshot().receiver_ccid, Ccid::TFRC_SP);
}
