//! Reference implementation of the documented model over lists.

use proptest::prelude::*;
use std::vec::Vec;

use super::super::{Inherent, LossClass, LossDifferentiation, LossGap, PacketArrival};
use whimbrel_units::{ByteCount, Duration, Instant};

/// (packets, of these lost, rate in bit/s)
type Window = (f64, f64, f64);

/// q of the model.
fn loss_probability(p: f64, limit: f64, rate: f64) -> f64 {
    if rate <= limit { p } else { p + (1.0 - p) * (rate - limit) / rate }
}

/// Weighted by age, the last window being the newest.
fn weighted(windows: &[Window]) -> impl Iterator<Item = (f64, Window)> {
    windows.iter().rev().take(15).enumerate().map(|(age, &window)| (libm::pow(0.9, age as f64), window))
}

fn log_likelihood(windows: &[Window], p: f64, limit: f64) -> f64 {
    let of_window = |(weight, (sent, lost, rate)): (f64, Window)| {
        let q = loss_probability(p, limit, rate);
        weight * (lost * libm::log(q) + (sent - lost) * libm::log(1.0 - q))
    };
    weighted(windows).map(of_window).sum()
}

/// The best p by bisection: the derivative decreases. `bandwidth` bounds it, in bit/s.
fn best(windows: &[Window], limit: f64, bandwidth: f64) -> (f64, f64) {
    let derivative = |p: f64| -> f64 {
        let of_window = |(weight, (sent, lost, rate)): (f64, Window)| {
            let (q, by_p) = (loss_probability(p, limit, rate), 1.0 - loss_probability(0.0, limit, rate));
            weight * (lost / q - (sent - lost) / (1.0 - q)) * by_p
        };
        weighted(windows).map(of_window).sum()
    };
    let (mut low, mut high) = (0.001, (0.05 + 100e3 / bandwidth).clamp(0.001, 0.999));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if derivative(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, log_likelihood(windows, low, limit))
}

/// p, the limit if it is accepted, and the most likely limit, after `windows`.
fn estimate(windows: &[Window], before: Option<f64>) -> (f64, Option<f64>, Option<f64>) {
    if weighted(windows).all(|(_, (_, lost, _))| lost == 0.0) {
        return (0.001, None, before);
    }
    let (sent, lost, rate) = windows[windows.len() - 1];
    let mut limits: Vec<f64> = Vec::new();
    if let Some(before) = before {
        limits.extend([1.02 * before, before, 0.95 * before]);
    }
    limits.push(rate * (sent - lost) / sent);
    let (mut limit, (mut p, mut likelihood)) = (limits[0], best(windows, limits[0], limits[0]));
    for &other in &limits[1..] {
        let (other_p, other_likelihood) = best(windows, other, other);
        if other_likelihood > likelihood + 1e-6 {
            (limit, p, likelihood) = (other, other_p, other_likelihood);
        }
    }
    let (unlimited_p, unlimited) = best(windows, f64::INFINITY, rate * (sent - lost) / sent);
    if likelihood - unlimited > 1.92 {
        (p, Some(limit), Some(limit))
    } else {
        (unlimited_p, None, Some(limit))
    }
}

/// Sent packets in order: (send time in ms, `true` if it arrives). Each has 1000 bytes.
fn windows(packets: &[(u64, bool)]) -> (Vec<Window>, usize) {
    let (mut windows, mut start) = (Vec::new(), 0);
    for now in 0..packets.len() {
        // A receiver learns a packet's send time only if it arrives.
        let (time, arrives) = packets[now];
        let elapsed = time - packets[start].0;
        if arrives && elapsed >= 250 && now - start >= 20 {
            let sent = (now - start) as f64;
            let lost = packets[start..now].iter().filter(|(_, arrives)| !arrives).count() as f64;
            windows.push((sent, lost, sent * 8000.0 * 1e3 / elapsed as f64));
            start = now;
        }
    }
    (windows, start)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_estimate_and_the_classes_match_a_naive_transcription(
        phases in prop::collection::vec((1u64..30, 0u32..40, 40usize..160), 2..8),
        dice in prop::collection::vec(0u32..100, 1200),
    ) {
        let (mut packets, mut time) = (std::vec![(0, true)], 0);
        for (interval, loss, count) in phases {
            for _ in 0..count {
                time += interval;
                packets.push((time, dice[packets.len()] >= loss));
            }
        }
        let mut inherent = Inherent::new();
        let (mut likeliest, mut last, mut known, mut expected) = (None, 0, 0, None);
        for sequence in (0..packets.len()).filter(|i| packets[*i].1) {
            let sent = Instant::ZERO + Duration::from_millis(packets[sequence].0);
            let arrival = PacketArrival {
                at: sent, sequence: sequence as u64, size: ByteCount::new(1000), sent: Some(sent),
            };
            inherent.on_arrival(&arrival);
            let (windows, start) = windows(&packets[..=sequence]);
            // The newest window is not part of the estimate yet.
            if windows.len() > known.max(1) {
                let (p, limit, seed) = estimate(&windows[..windows.len() - 1], likeliest);
                (likeliest, expected) = (seed, Some((p, limit)));
            }
            known = windows.len();
            if let Some((p, limit)) = expected {
                let ours = inherent.inherent_loss().expect("an estimate");
                prop_assert!((ours - p).abs() < 1e-8, "{ours} {p}");
                let ours = inherent.bandwidth_limit().map(|limit| limit.as_bits_per_second());
                let near = match (ours, limit) {
                    (Some(ours), Some(limit)) => (ours / limit - 1.0).abs() < 1e-9,
                    (ours, limit) => ours == limit,
                };
                prop_assert!(near, "{ours:?} {limit:?}");
            }
            if sequence - last > 1 {
                let gap = LossGap {
                    first: last as u64 + 1, count: (sequence - last - 1) as u64, before: sent, after: sent,
                };
                let newest = windows.last().copied().unwrap_or_default();
                let open = &packets[start..=sequence];
                let n = newest.0 + open.len() as f64;
                let l = newest.1 + open.iter().filter(|(_, arrives)| !arrives).count() as f64;
                let is_congestion = expected.is_none_or(|(p, _)| {
                    let own = l / n;
                    own > p && n * (own * libm::log(own / p)
                        + (1.0 - own) * libm::log((1.0 - own) / (1.0 - p))) > 1.92
                });
                prop_assert_eq!(inherent.classify(&gap), LossClass::wireless_if(!is_congestion), "{}", sequence);
            }
            last = sequence;
        }
    }
}
