use std::fs;

use super::*;
use crate::random::RandomStreams;

fn netem(config: &NetemConfig) -> Netem {
    Netem::new(config, RandomStreams::new(1, 0).stream("link", "netem")).expect("a sound configuration")
}

fn delays_ms(config: &NetemConfig, packets: usize) -> Vec<f64> {
    let mut netem = netem(config);
    (0..packets).map(|_| netem.delay().as_secs_f64() * 1e3).collect()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

fn jittery(distribution: JitterDistribution, correlation: f64) -> NetemConfig {
    let (delay, jitter) = (Duration::from_millis(100), Duration::from_millis(10));
    NetemConfig { delay, jitter, correlation, distribution, ..NetemConfig::default() }
}

/// A fold of all entries, different for different tables.
fn fold(entries: &[i16]) -> u32 {
    entries.iter().fold(0u32, |sum, entry| sum.wrapping_mul(31).wrapping_add(u32::from(*entry as u16)))
}

#[test]
fn the_tables_are_those_of_iproute2() {
    // Folded from the files of iproute2 6.1 (/usr/lib/.../tc/*.dist).
    let folds = [
        (JitterDistribution::Normal, "normal", 0xa5f8_3a1b),
        (JitterDistribution::Pareto, "pareto", 0x7e28_b604),
        (JitterDistribution::ParetoNormal, "paretonormal", 0xc96c_7ca0),
    ];
    for (distribution, name, expected) in folds {
        let table = Table::of(distribution).expect("a table");
        assert_eq!(fold(table.entries()), expected, "{name}");
        // With iproute2 installed, entry by entry.
        for folder in ["/usr/lib/tc", "/usr/lib/x86_64-linux-gnu/tc", "/usr/lib/aarch64-linux-gnu/tc"] {
            let Ok(text) = fs::read_to_string(format!("{folder}/{name}.dist")) else { continue };
            let words = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
            let entries: Vec<i16> = words.map(|word| word.parse().expect("a number")).collect();
            assert_eq!(table.entries(), entries, "{name}");
        }
    }
    assert!(Table::of(JitterDistribution::Uniform).is_none());
}

#[test]
fn tabledist_rounds_as_the_kernel_does() {
    // sigma = 10,000,000 = 1220 * 8192 + 5760; entry t = -28307 (the normal table's second):
    // 5760 t = -163,048,320; - 4096, / 8192 towards zero = -19,903; 1220 t = -34,534,540; and 100 ms:
    // 65,445,557 ns.
    let mut netem = netem(&jittery(JitterDistribution::Normal, 0.0));
    let table = netem.table.as_mut().expect("a table");
    assert_eq!(table.pick(1), -28307);
    let (sigma, value) = (10_000_000i64, table.pick(1));
    let part = sigma % SCALE * value;
    assert_eq!((part - SCALE / 2) / SCALE, -19_903);
    assert_eq!((part - SCALE / 2) / SCALE + sigma / SCALE * value + 100_000_000, 65_445_557);
    // And what is drawn is one of these values.
    let possible: std::collections::BTreeSet<u64> = (0..4096)
        .map(|index| {
            let value = netem.table.as_ref().map_or(0, |table| table.pick(index));
            let exact = 1e7 * value as f64 / 8192.0;
            (exact.round() + 1e8) as u64
        })
        .collect();
    for _ in 0..1000 {
        let drawn = netem.delay().as_nanos();
        assert!(possible.range(drawn - 1..=drawn + 1).next().is_some(), "{drawn}");
    }
}

#[test]
fn uniform_jitter_spreads_evenly_between_its_ends() {
    let delays = delays_ms(&jittery(JitterDistribution::Uniform, 0.0), 20_000);
    let (mean, deviation) = mean_and_deviation(&delays);
    // 10 / sqrt 3 = 5.774; four standard errors.
    assert!((mean - 100.0).abs() < 4.0 * 5.774 / 141.4, "{mean}");
    assert!((deviation - 5.774).abs() < 0.1, "{deviation}");
    assert!(delays.iter().all(|delay| (90.0..110.0).contains(delay)));
}

#[test]
fn the_other_distributions_have_the_means_and_deviations_of_their_tables() {
    // Of the tables' 4096 entries over 8192: mean and root mean square.
    let tables = [
        (JitterDistribution::Normal, -0.00078f64, 1.00005f64),
        (JitterDistribution::Pareto, -0.03349, 0.82036),
        (JitterDistribution::ParetoNormal, -0.02530, 0.83433),
    ];
    for (distribution, mean, square) in tables {
        let delays = delays_ms(&jittery(distribution, 0.0), 40_000);
        let (seen, deviation) = mean_and_deviation(&delays);
        let expected = (square * square - mean * mean).sqrt() * 10.0;
        assert!((seen - 100.0 - 10.0 * mean).abs() < 4.0 * expected / 200.0, "{distribution:?} {seen}");
        assert!((deviation / expected - 1.0).abs() < 0.06, "{distribution:?} {deviation} {expected}");
    }
}

#[test]
fn correlation_leans_each_number_on_the_last() {
    // tc's 25 % is rho = rint(0.25 (2^32 - 1)) = 2^30; the next is (fresh (2^32 - rho - 1) + last (rho + 1))
    // / 2^32.
    let mut numbers = CorrelatedRandom { rho: fraction(0.25), last: 0 };
    assert_eq!(numbers.rho, 1 << 30);
    assert_eq!(numbers.lean(4_000_000_000), 2_999_999_999);
    // 1e9 * (2^32 - 2^30 - 1) + 2,999,999,999 (2^30 + 1) = 6.44e18 + ..., by hand with long integers:
    assert_eq!(numbers.lean(1_000_000_000), 1_500_000_000);
    assert_eq!(CorrelatedRandom { rho: 0, last: 5 }.lean(77), 77);
}

#[test]
fn correlation_is_lost_on_delays_and_felt_in_reordering() {
    // A delay goes by the remainder of the number (by 2 * jitter, or by 4096), in which the leaning is not to
    // be seen.
    for distribution in [JitterDistribution::Uniform, JitterDistribution::Normal] {
        let (plain, leaning) = (jittery(distribution, 0.0), jittery(distribution, 0.5));
        let (plain, leaning) = (delays_ms(&plain, 40_000), delays_ms(&leaning, 40_000));
        let ((_, spread), (mean, same)) = (mean_and_deviation(&plain), mean_and_deviation(&leaning));
        assert!((same / spread - 1.0).abs() < 0.03, "{same} {spread}");
        let products = leaning.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
        let correlation = products.sum::<f64>() / 40_000.0 / (same * same);
        assert!(correlation.abs() < 4.0 / 200.0, "{correlation}");
    }
    // Reordering goes by the number itself: below 5 %, only after several small numbers in a row.
    let reorder = Reorder { probability: 0.05, correlation: 0.5, gap: 1 };
    let config = NetemConfig { reorder: Some(reorder), ..jittery(JitterDistribution::Uniform, 0.0) };
    let delays = delays_ms(&config, 40_000);
    let ahead = delays.iter().filter(|delay| **delay == 0.0).count() as f64 / 40_000.0;
    assert!(ahead < 0.001, "{ahead}");
}

#[test]
fn correlated_generators_start_at_random() {
    // `init_crandom` of sch_netem.c. With a correlation of 0.9, the first number is 0.1 fresh + 0.9 last:
    // from 0 it would never exceed 0.1, and the first packet would go ahead in every run.
    let reorder = Reorder { probability: 0.25, correlation: 0.9, gap: 1 };
    let config = NetemConfig { reorder: Some(reorder), ..jittery(JitterDistribution::Uniform, 0.0) };
    let first = |run| {
        let stream = RandomStreams::new(run, 0).stream("link", "netem");
        Netem::new(&config, stream).expect("a sound configuration").delay().is_zero()
    };
    let ahead = (0..4_000).filter(|run| first(*run)).count() as f64 / 4_000.0;
    // P(0.1 u + 0.9 v < 0.25) with u, v uniform is (0.25 - 0.1 / 2) / 0.9 = 0.2222; four standard errors.
    assert!((ahead - 0.2222).abs() < 4.0 * (0.2222f64 * 0.7778 / 4_000.0).sqrt(), "{ahead}");
}

#[test]
fn a_reordered_packet_is_not_delayed() {
    let reorder = Reorder { probability: 0.05, correlation: 0.0, gap: 1 };
    let config = NetemConfig { reorder: Some(reorder), ..jittery(JitterDistribution::Uniform, 0.0) };
    let delays = delays_ms(&config, 40_000);
    let ahead = delays.iter().filter(|delay| **delay == 0.0).count() as f64 / 40_000.0;
    // Four standard errors of 5 %.
    assert!((ahead - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / 40_000.0).sqrt(), "{ahead}");
    assert!(delays.iter().all(|delay| *delay == 0.0 || *delay >= 90.0));
}

#[test]
fn with_a_gap_every_nth_packet_is_a_candidate_until_it_goes_ahead() {
    let ahead = |probability, gap, packets| {
        let reorder = Reorder { probability, correlation: 0.0, gap };
        let config = NetemConfig { reorder: Some(reorder), ..jittery(JitterDistribution::Uniform, 0.0) };
        let delays = delays_ms(&config, packets);
        delays
            .iter()
            .enumerate()
            .filter(|(_, delay)| **delay == 0.0)
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    // With certainty: packets 4, 9, 14 counted from 0, as `gap 5` delays four and sends the fifth.
    assert_eq!(ahead(1.0, 5, 20), [4, 9, 14, 19]);
    assert_eq!(ahead(1.0, 1, 3), [0, 1, 2]);
    // At a half, the candidates are all packets after the fourth delayed, so that gaps have a mean of 4 + 2.
    let half = ahead(0.5, 5, 30_000);
    let mean = 30_000.0 / half.len() as f64;
    assert!((mean - 6.0).abs() < 0.1, "{mean}");
    assert!(half.windows(2).all(|pair| pair[1] - pair[0] >= 5));
}

#[test]
fn delays_below_zero_are_none() {
    let config = NetemConfig { delay: Duration::from_millis(1), ..jittery(JitterDistribution::Uniform, 0.0) };
    let delays = delays_ms(&config, 10_000);
    let none = delays.iter().filter(|delay| **delay == 0.0).count() as f64 / 10_000.0;
    // From -9 to 11 ms: 45 % are below zero.
    assert!((none - 0.45).abs() < 0.02, "{none}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let stream = || RandomStreams::new(1, 0).stream("link", "netem");
    let error = |config: NetemConfig| Netem::new(&config, stream()).expect_err("no sense");
    let usual = jittery(JitterDistribution::Uniform, 0.0);
    assert_eq!(error(NetemConfig { correlation: 1.1, ..usual }), NetemError::Probability(1.1));
    let long = Duration::from_secs(3);
    assert_eq!(error(NetemConfig { jitter: long, ..usual }), NetemError::Jitter(long));
    let reorder = Reorder { probability: 0.5, correlation: 0.0, gap: 0 };
    assert_eq!(error(NetemConfig { reorder: Some(reorder), ..usual }), NetemError::Reorder);
    let no_delay = NetemConfig { delay: Duration::ZERO, ..usual };
    let reorder = Reorder { gap: 1, ..reorder };
    assert_eq!(error(NetemConfig { reorder: Some(reorder), ..no_delay }), NetemError::Reorder);
}
