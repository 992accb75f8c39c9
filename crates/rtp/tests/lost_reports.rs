//! Laws of congestion control over transport-wide feedback, of which every hundredth message is lost.

use std::collections::VecDeque;

use whimbrel_control::media::{
    Bbr, BbrConfig, Copa, CopaConfig, DelayAwareTfrc, DelayAwareTfrcConfig, Gcc, GccConfig, MediaController,
    Nada, NadaConfig, RateLimits, Reception, Scream, ScreamConfig, ScreamEcn, SentPacket, SentPackets,
};
use whimbrel_rtp::{ArrivalLog, TICK, TransportFeedback};
use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

const STEP: Duration = Duration::from_micros(500);
const RATE: f64 = 6e6;
const SIZE: u64 = 1200;
const ONE_WAY: Duration = Duration::from_millis(20);
const REPORT_INTERVAL: Duration = Duration::from_millis(20);
/// Packets in the queue of the bottleneck: 300 ms.
const QUEUE: usize = 187;

/// The receptions of a message, whose numbers are below `next`, and the time from the newest arrival to its
/// sending at `sent`.
fn receptions(feedback: &TransportFeedback, next: u64, sent: Instant) -> (Vec<(u64, Reception)>, Duration) {
    let behind = u64::from((next as u16).wrapping_sub(feedback.base));
    let first = next - behind;
    let mut found: Vec<_> =
        (first..first + u64::from(feedback.count)).map(|number| (number, Reception::Missing)).collect();
    let mut newest = Instant::ZERO;
    for (number, ticks) in feedback.arrivals() {
        let at = Instant::ZERO + TICK * u64::try_from(ticks).unwrap();
        newest = newest.max(at);
        found[usize::from(number.wrapping_sub(feedback.base))].1 =
            Reception::Arrived { at, ecn: Ecn::NotEct };
    }
    (found, sent.saturating_since(newest))
}

/// Mbit/s that arrive from 15 to 30 s, while the messages whose number `is_lost` are lost.
fn arrived(mut law: Box<dyn MediaController>, is_lost: fn(u64) -> bool) -> f64 {
    let (mut sent, mut log) = (SentPackets::new(1 << 15), ArrivalLog::new());
    let mut queue = VecDeque::new();
    let mut flying = VecDeque::new();
    let mut messages: VecDeque<(Instant, Instant, Vec<u8>)> = VecDeque::new();
    let (mut sequence, mut message, mut counted) = (0, 0, 0);
    let (mut encoded, mut credit, mut link) = (0.0, 0.0, 0.0);
    let bits = SIZE as f64 * 8.0;
    for step in 1..=60_000_u64 {
        let now = Instant::ZERO + STEP * step;
        link = if queue.is_empty() { 0.0 } else { link + RATE * STEP.as_secs_f64() };
        while link >= bits && !queue.is_empty() {
            link -= bits;
            flying.extend(queue.pop_front().map(|number: u64| (now + ONE_WAY, number)));
        }
        while flying.front().is_some_and(|(at, _)| *at <= now) {
            let (_, number) = flying.pop_front().unwrap();
            log.record(number as u16, now);
            counted += u64::from(now > Instant::from_secs(15));
        }
        if (now - Instant::ZERO).as_nanos().is_multiple_of(REPORT_INTERVAL.as_nanos()) {
            while let Some(feedback) = log.poll(1, 2) {
                let mut bytes = Vec::new();
                feedback.encode(&mut bytes).unwrap();
                message += 1;
                if !is_lost(message) {
                    messages.push_back((now + ONE_WAY, now, bytes));
                }
            }
        }
        while messages.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, at, bytes) = messages.pop_front().unwrap();
            let (found, held) = receptions(&TransportFeedback::decode(&bytes).unwrap(), sequence, at);
            if let Some(feedback) = sent.on_report(now, found, held) {
                law.on_feedback(&feedback);
            }
        }
        while law.next_timer().is_some_and(|at| at <= now) {
            law.on_timer(now);
        }
        let allowance = law.allowance();
        let padding = law.padding().max(allowance.target).as_bits_per_second();
        encoded = (encoded + padding * STEP.as_secs_f64()).min(padding / 10.0 + 2.0 * bits);
        credit = (credit + allowance.pacing.as_bits_per_second() * STEP.as_secs_f64()).min(40.0 * bits);
        while encoded >= bits && credit >= bits {
            let in_flight = sent.in_flight().as_u64();
            if allowance.window.is_some_and(|window| in_flight > 0 && in_flight + SIZE > window.as_u64()) {
                break;
            }
            (encoded, credit) = (encoded - bits, credit - bits);
            let (sent_at, size) = (now, ByteCount::new(SIZE));
            let packet = SentPacket { sequence, sent_at, captured_at: now, size, probe: None };
            sent.on_sent(packet);
            law.on_sent(&packet);
            if queue.len() < QUEUE {
                queue.push_back(sequence);
            }
            sequence += 1;
        }
    }
    counted as f64 * bits / 15.0 / 1e6
}

#[test]
fn every_hundredth_lost_message_costs_no_law_its_rate() {
    let limits = RateLimits {
        min: DataRate::from_kilobits_per_second(150.0),
        start: DataRate::from_kilobits_per_second(300.0),
        max: DataRate::from_megabits_per_second(20.0),
    };
    let scream = ScreamConfig { ecn: ScreamEcn::Off, ..ScreamConfig::new(limits) };
    let laws: [Box<dyn MediaController>; 6] = [
        Box::new(Bbr::new(BbrConfig::new(limits))),
        Box::new(Copa::new(CopaConfig::new(limits))),
        Box::new(Scream::new(scream)),
        Box::new(Gcc::new(GccConfig::new(limits))),
        Box::new(Nada::new(NadaConfig::new(limits))),
        Box::new(DelayAwareTfrc::new(DelayAwareTfrcConfig::new(limits))),
    ];
    for law in laws {
        let name = law.name();
        let clean = arrived(law.clone_box(), |_| false);
        let lossy = arrived(law, |number| number % 100 == 0);
        // GCC, whose probes are not sent here, is still on its way to the rate of the link.
        let least = if name == "GCC" { 2.0 } else { 5.0 };
        assert!(clean > least && lossy > 0.97 * clean, "{name}: {lossy} of {clean} Mbit/s");
    }
}
