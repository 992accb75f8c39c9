//! Paths that lose, duplicate, reorder and damage, and peers that lie.

use std::collections::BTreeSet;

use proptest::prelude::*;
use whimbrel_repair::channel::Cause;
use whimbrel_repair::fecframe::Esi;
use whimbrel_repair::receiver::{Delivery, Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig, SenderEvent};
use whimbrel_repair::wire::{Report, Role};
use whimbrel_units::{DataRate, Duration, Instant};

use super::simulation::Random;

const LATENCY: Duration = Duration::from_millis(120);

/// The most bytes of a packet: in parts, so many that there are several.
const fn packet_size(in_parts: bool) -> u16 {
    if in_parts { 700 } else { 160 }
}

fn payload(number: u64, in_parts: bool) -> Vec<u8> {
    let mut random = Random(number);
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend((0..random.word() % if in_parts { 600 } else { 90 }).map(|_| random.word() as u8));
    bytes
}

/// The probabilities of a path, whose jitter is in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Treatment {
    loss: f64,
    duplication: f64,
    jitter: u64,
    damage: f64,
}

/// A network in steps of a millisecond. Returns the datagrams delivered, in order, and how many were sent.
fn run(
    seed: u64,
    treatment: Treatment,
    delivery: Delivery,
    verdict: Cause,
    in_parts: bool,
) -> (Vec<u64>, u64) {
    let Treatment { loss, duplication, jitter, damage } = treatment;
    let (mut random, size) = (Random(seed), packet_size(in_parts));
    let mut sender = Sender::new(SenderConfig { in_parts, ..SenderConfig::new(size, LATENCY) });
    let mut receiver =
        Receiver::new(ReceiverConfig { delivery, in_parts, ..ReceiverConfig::new(size, LATENCY) });
    receiver.set_verdict(verdict);
    let (mut path, mut count) = (BTreeSet::<(u64, u64, bool, Vec<u8>)>::new(), 0);
    let (mut delivered, mut out, mut sent) = (Vec::new(), Vec::new(), 0);
    for millisecond in 0..2_000_u64 {
        let now = Instant::from_millis(1_000 + millisecond);
        if millisecond % 3 == 0 && millisecond < 1_700 {
            let parts = 5;
            let mark = Mark { role: Role::Disposable, ..Mark::part((sent % parts) as usize, parts as usize) };
            sender.send(now, &payload(sent, in_parts), mark).expect("an accepted datagram");
            sent += 1;
        }
        while path.first().is_some_and(|packet| packet.0 <= millisecond) {
            let (_, _, to_receiver, bytes) = path.pop_first().expect("a packet");
            // Any bytes are taken or refused.
            let _ = if to_receiver {
                receiver.handle_packet(now, &bytes)
            } else {
                sender.handle_packet(now, &bytes)
            };
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while let Some(got) = receiver.poll_delivery(now, &mut out) {
            let number = u64::from_be_bytes(out[..8].try_into().expect("a number"));
            assert_eq!(out, payload(number, in_parts), "altered");
            assert_eq!(got.esi, Esi(number as u32));
            delivered.push(number);
        }
        let mut packets: Vec<(bool, Vec<u8>)> = Vec::new();
        while sender.poll_transmit(now, &mut out).is_some() {
            assert!(out.len() <= usize::from(size));
            packets.push((true, out.clone()));
        }
        while receiver.poll_transmit(now, &mut out).is_some() {
            packets.push((false, out.clone()));
        }
        for (to_receiver, bytes) in packets {
            let copies = if random.unit() < loss { 0 } else { 1 + usize::from(random.unit() < duplication) };
            for _ in 0..copies {
                let mut bytes = bytes.clone();
                if random.unit() < damage && in_parts {
                    // 16 bits at most, of which no checksum misses any.
                    let start = random.word() as usize % bytes.len();
                    bytes.iter_mut().skip(start).take(2).for_each(|byte| *byte ^= random.word() as u8);
                } else if random.unit() < damage {
                    // A damaged packet gets another kind and is refused: a transport delivers whole packets.
                    bytes[0] = 0x40 | (random.word() as u8 & 0x3f);
                }
                count += 1;
                let delay = 20 + random.word() % (jitter + 1);
                path.insert((millisecond + delay, count, to_receiver, bytes));
            }
        }
    }
    (delivered, sent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Each datagram is delivered at most once, in order, and as it was sent; none is made up.
    #[test]
    fn datagrams_are_conserved(
        seed: u64, loss in 0.0..0.6, duplication in 0.0..0.5, jitter in 0..40_u64, damage in 0.0..0.2, early: bool, radio: bool,
        in_parts: bool,
    ) {
        let delivery = if early { Delivery::Early } else { Delivery::Constant };
        let verdict = if radio { Cause::Radio } else { Cause::Congestion };
        let (delivered, sent) = run(seed, Treatment { loss, duplication, jitter, damage }, delivery, verdict, in_parts);
        prop_assert!(delivered.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(delivered.iter().all(|&number| number < sent));
        // Timely arrivals are delivered: at least the share that no repair would bring.
        let least = (1.0 - loss) * (1.0 - damage) * 0.8 * sent as f64;
        prop_assert!(delivered.len() as f64 >= least - 20.0, "{} of {sent}", delivered.len());
    }

    /// A receiver that lies in every report gets no more than the granted rate, and at most the source again
    /// in coded packets.
    #[test]
    fn a_lying_receiver_is_bounded(
        seed: u64,
        reports in proptest::collection::vec((0..40_u32, any::<u64>(), any::<u8>(), any::<u128>(), 0..600_u32), 1..400),
        limited: bool,
    ) {
        let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
        let (mut out, mut bytes, mut source) = (Vec::new(), 0_usize, 0_usize);
        let start = Instant::from_secs(1);
        if limited {
            sender.set_granted_rate(start, Some(DataRate::from_bytes_per_second(100_000.0)));
        }
        let mut random = Random(seed);
        let mut transmissions = vec![0_u32; 4_000];
        for (step, (back, wanted, answer, arrivals, hold)) in reports.iter().enumerate() {
            let now = start + Duration::from_millis(4 * step as u64);
            let mark = Mark::part(step % 8, 8);
            let _ = sender.send(now, &[7; 100], mark);
            let next = Esi((source as u32).saturating_sub(back % 5));
            let mut report = Report::new((step % 255) as u8 + 1, next);
            report.first = next.plus(back.wrapping_neg());
            for i in (0..64).filter(|i| wanted >> i & 1 == 1) {
                report.want(report.first.plus(i));
            }
            report.answer = *answer;
            (report.cause, report.lead) = (Cause::Radio, random.word() as i32 as i64);
            report.arrivals = *arrivals;
            report.echo = random.word().is_multiple_of(2).then(|| next.plus(u32::MAX));
            report.hold = Duration::from_micros(u64::from(*hold) * 10);
            report.lost = random.word().is_multiple_of(9).then_some(random.word() as u16);
            for _ in 0..1 + random.word() % 3 {
                sender.on_report(now, &report);
            }
            while let Some(sent) = sender.poll_transmit(now, &mut out) {
                prop_assert!(out.len() <= 160);
                bytes += out.len();
                if let whimbrel_repair::sender::Sent::Source(esi) = sent {
                    source = esi.0 as usize + 1;
                    transmissions[esi.0 as usize] += 1;
                }
                if let whimbrel_repair::sender::Sent::Repeat(esi) = sent {
                    transmissions[esi.0 as usize] += 1;
                }
            }
            while let Some(event) = sender.poll_event() {
                let SenderEvent::Lost { .. } = event else { continue };
            }
        }
        let counts = sender.counts();
        let elapsed = 0.004 * reports.len() as f64;
        if limited {
            prop_assert!(bytes as f64 <= 100_000.0 * (elapsed + 0.02) + 320.0, "{bytes} bytes in {elapsed} s");
        }
        prop_assert!(counts.parity + counts.surplus <= counts.source + 1);
        // A packet is repeated at most once for each report that can know the answer before, so at most
        // once per step.
        prop_assert!(transmissions.iter().all(|&count| count <= 1 + 130 / 4 + 1), "{:?}", transmissions.iter().max());
    }
}

/// With all losses called congestion, the share of coded packets does not rise above what is sent before
/// anything is known.
#[test]
fn congestion_gets_no_parity() {
    for (verdict, has_parity) in [(Cause::Congestion, false), (Cause::Unknown, false), (Cause::Radio, true)] {
        let mut sender = Sender::new(SenderConfig::new(160, Duration::from_millis(60)));
        let (mut out, mut sent, mut random) = (Vec::new(), 0_u32, Random(4));
        let mut parity_early = 0;
        let mut lost = [false; 8_192];
        for step in 0..8_000_u64 {
            let now = Instant::from_millis(1_000 + step);
            sender
                .send(now, &[1; 100], Mark { role: Role::Disposable, ..Mark::part(step as usize % 10, 10) })
                .unwrap();
            while let Some(what) = sender.poll_transmit(now, &mut out) {
                if let whimbrel_repair::sender::Sent::Source(esi) = what {
                    lost[esi.0 as usize] = random.unit() < 0.15;
                    sent = esi.0 + 1;
                }
            }
            if step % 20 == 0 && sent > 50 {
                // The state 50 ms ago: no repeat can be in time.
                let next = Esi(sent - 50);
                let mut report = Report::new(1 + (step % 200) as u8, next);
                (report.cause, report.lead) = (verdict, 60_000_000);
                report.arrivals = (0..128)
                    .filter(|i| *i < next.0 && !lost[(next.0 - 1 - i) as usize])
                    .map(|i| 1 << i)
                    .sum();
                report.echo = (0..next.0).rev().find(|&esi| !lost[esi as usize]).map(Esi);
                sender.on_report(now, &report);
            }
            if step == 4_000 {
                parity_early = sender.counts().parity;
            }
        }
        let (early, late) = (parity_early, sender.counts().parity - parity_early);
        assert_eq!(late > 400, has_parity, "{verdict:?}: {late} parity packets");
        assert!(has_parity || late < early, "{verdict:?}: {early}, then {late}");
    }
}

/// A peer that claims the loss of each frame makes the encoder begin anew now and then, not at each report.
#[test]
fn claims_of_losses_ask_for_few_new_starts() {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    let (mut out, mut asked, begin) = (Vec::new(), 0, Instant::from_secs(1));
    for n in 0..2_000_u32 {
        let now = begin + Duration::from_millis(5) * u64::from(n);
        // The encoder answers at once.
        sender.send(now, &[1], Mark { role: Role::Start, ..Mark::SINGLE }).unwrap();
        while sender.poll_transmit(now, &mut out).is_some() {}
        let mut report = Report::new((n % 255) as u8 + 1, Esi(n + 1));
        report.lost = Some(n as u16);
        sender.on_report(now, &report);
        asked += std::iter::from_fn(|| sender.poll_event())
            .filter(|event| matches!(event, SenderEvent::NewStart { .. }))
            .count();
    }
    // 10 s, a round trip of 100 ms by default, and 100 ms for a frame.
    assert_eq!(asked, 50);
}
