//! Reference implementation of the paper's formulae over complete histories.

use proptest::prelude::*;
use std::vec::Vec;

use super::super::{LossClass, LossGap, Scheme};
use crate::loss_differentiation::PacketArrival;
use whimbrel_units::{ByteCount, Duration, Instant};

/// Arrivals so far: (sequence number, time in ns, trip time in ns), in whole nanoseconds so that rounding has
/// no effect.
type History<'a> = &'a [(u64, f64, f64)];

fn instant(ns: f64) -> Instant {
    Instant::from_nanos(1_000_000_000 + ns as u64)
}

fn t_min(history: History<'_>) -> f64 {
    history.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(f64::INFINITY, f64::min)
}

fn biaz(history: History<'_>, n: u64, upper: f64) -> bool {
    let [.., before, after] = history else { return false };
    let (time, n, t_min) = (after.1 - before.1, n as f64, t_min(history));
    (n + 1.0) * t_min <= time && time < (n + upper) * t_min
}

fn spike(history: History<'_>) -> bool {
    let mut inside = false;
    for end in 1..=history.len() {
        let rotts = || history[..end].iter().map(|arrival| arrival.2);
        let (low, high) = (rotts().fold(f64::INFINITY, f64::min), rotts().fold(0.0, f64::max));
        let rott = history[end - 1].2;
        if !inside && rott - low > 0.5 * (high - low) {
            inside = true;
        } else if inside && rott - low < 1.0 / 3.0 * (high - low) {
            inside = false;
        }
    }
    !inside
}

fn mean_and_deviation(history: History<'_>) -> (f64, f64) {
    let (mut mean, mut deviation) = (history[0].2, 0.0);
    for &(_, _, rott) in &history[1..] {
        mean = mean * 31.0 / 32.0 + rott / 32.0;
        deviation = deviation * 15.0 / 16.0 + (rott - mean).abs() / 16.0;
    }
    (mean, deviation)
}

fn zigzag(history: History<'_>, n: u64) -> bool {
    let (mean, deviation) = mean_and_deviation(history);
    let d = history[history.len() - 1].2 - mean;
    (n == 1 && d < -deviation)
        || (n == 2 && d < -deviation / 2.0)
        || (n == 3 && d < 0.0)
        || (n > 3 && d < deviation / 2.0)
}

/// The scheme in use after the whole history, for ZBS (or ZBS2).
fn zbs_base(history: History<'_>, second: bool) -> char {
    let (mut base, mut since, mut packets, mut average) = ('z', history[0].1, 0, None);
    for end in 1..=history.len() {
        let seen = &history[..end];
        let now = seen[end - 1].1;
        packets += 1;
        if let [.., before, after] = seen {
            let sample = (after.1 - before.1) / (after.0 - before.0) as f64;
            average = Some(average.map_or(sample, |average: f64| 0.75 * average + 0.25 * sample));
        }
        let Some(average) = average else { continue };
        if packets < 50 && now - since < 3e9 {
            continue;
        }
        let ratio = average / t_min(seen);
        let wanted = if ratio < 0.95 {
            'z'
        } else if ratio < 1.1 {
            'b'
        } else if ratio < 1.5 || (second && mean_and_deviation(seen).1 < 0.5 * t_min(seen)) {
            'z'
        } else {
            's'
        };
        if wanted != base {
            (base, since, packets) = (wanted, now, 0);
        }
    }
    base
}

fn by(base: char, history: History<'_>, n: u64) -> bool {
    match base {
        'z' => zigzag(history, n),
        'b' => biaz(history, n, 1.2),
        _ => spike(history),
    }
}

fn naive(scheme: Scheme, history: History<'_>, n: u64) -> bool {
    match scheme {
        Scheme::Biaz => biaz(history, n, 2.0),
        Scheme::ModifiedBiaz => biaz(history, n, 1.2),
        Scheme::Spike => spike(history),
        Scheme::ZigZag => zigzag(history, n),
        Scheme::Zbs => by(zbs_base(history, false), history, n),
        Scheme::Zbs2 => by(zbs_base(history, true), history, n),
        Scheme::Zbs3 => {
            let least = history.iter().map(|arrival| arrival.2).fold(f64::INFINITY, f64::min);
            let now = history[history.len() - 1].2;
            if history.len() > 1 && now - least < 0.05 * t_min(history) {
                spike(history)
            } else if history.len() > 1 && mean_and_deviation(history).1 < 0.5 * t_min(history) {
                zigzag(history, n)
            } else {
                by(zbs_base(history, false), history, n)
            }
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_scheme_matches_a_naive_transcription(
        steps in prop::collection::vec((1u64..=4, 0u64..60, 0u64..60), 2..160),
        base in prop::sample::select(std::vec![1e6, 7e6, 35e6]),
    ) {
        let mut history: Vec<(u64, f64, f64)> = Vec::new();
        let (mut sequence, mut now) = (0, 0.0);
        for (skip, interval, rott) in steps {
            // Half of the packets arrive back to back, as behind a bottleneck.
            let skip = if skip == 4 { 1 + interval % 5 } else { 1 };
            sequence += skip;
            now += base * skip as f64 + if interval < 30 { 0.0 } else { interval as f64 * 377e3 };
            history.push((sequence, now, 20e6 + rott as f64 * 512_300.0));
        }
        // Inherent and Standing are no schemes of the paper and have tests of their own.
        let of_paper = |scheme: &Scheme| !matches!(scheme, Scheme::Inherent | Scheme::Standing);
        for scheme in Scheme::ALL.into_iter().filter(of_paper) {
            let mut algorithm = scheme.build();
            for end in 1..=history.len() {
                let (sequence, at, rott) = history[end - 1];
                let at = instant(at);
                let sent = Some(at.saturating_sub(Duration::from_nanos(rott as u64)));
                let arrival = PacketArrival { at, sequence, size: ByteCount::new(500), sent };
                algorithm.on_arrival(&arrival);
                let Some(before) = end.checked_sub(2).map(|i| history[i]) else { continue };
                let count = sequence - before.0 - 1;
                if count == 0 {
                    continue;
                }
                let gap = LossGap { first: before.0 + 1, count, before: instant(before.1), after: arrival.at };
                let expected = LossClass::wireless_if(naive(scheme, &history[..end], count));
                prop_assert_eq!(algorithm.classify(&gap), expected, "{} at {}", scheme, end);
            }
        }
    }
}
