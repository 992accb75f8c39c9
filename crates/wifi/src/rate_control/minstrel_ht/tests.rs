use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::estimate::{Average, duration, retries, throughput};
use super::{MinstrelHt, ONE};
use crate::phy::{Format, GuardInterval, Mode, Width};
use crate::random::{Random, SplitMix64};

fn mode(format: Format, mcs: u8, streams: u8, width: Width, guard: GuardInterval) -> Mode {
    Mode::new(format, mcs, streams, width, guard).unwrap()
}

/// Duration, throughput with one MPDU and 16, throughput at half, tries with 16 and with one, of Linux.
#[test]
fn estimates_are_those_of_linux() {
    use GuardInterval::{Ns400, Ns800};
    let cases = [
        (Format::Ht, 7, 1, Width::Mhz20, Ns800, [147_744, 351, 582, 323, 2, 5]),
        (Format::Ht, 7, 1, Width::Mhz20, Ns400, [133_024, 373, 643, 357, 0, 0]),
        (Format::Ht, 0, 1, Width::Mhz20, Ns800, [1_476_992, 56, 60, 33, 0, 0]),
        (Format::Ht, 7, 2, Width::Mhz40, Ns400, [32_224, 641, 2_308, 1_282, 5, 6]),
        (Format::Vht, 9, 2, Width::Mhz80, Ns400, [11_300, 754, 4_985, 2_770, 0, 0]),
    ];
    for (format, mcs, streams, width, guard, expected) in cases {
        let [mode, slowest] = [mcs, 0].map(|mcs| mode(format, mcs, streams, width, guard));
        let time = duration(mode, slowest);
        let found = [
            time,
            throughput(time, 1, ONE),
            throughput(time, 16, ONE),
            throughput(time, 16, ONE / 2),
            retries(time, 16),
            retries(time, 1),
        ];
        // The tries are published for two of the modes.
        let checked = if time == 147_744 || time == 32_224 { 6 } else { 4 };
        assert_eq!(found[..checked], expected[..checked], "{mode}");
    }
    assert_eq!(throughput(147_744, 16, ONE / 10 - 1), 0);
}

#[test]
fn the_average_is_the_filter_of_linux() {
    let filtered = |values: &[u32]| {
        let mut average = Average::default();
        let add = |&value: &u32| {
            average.add(value);
            average.value().unwrap()
        };
        values.iter().map(add).collect::<Vec<_>>()
    };
    let falling = [&[ONE; 3][..], &[819; 12]].concat();
    let expected = [3_157, 1_948, 931, 315, 105, 188, 416, 662, 848, 946, 965, 934];
    assert_eq!(filtered(&falling)[3..], expected);
    let rising = [&[409; 3][..], &[ONE; 4]].concat();
    assert_eq!(filtered(&rising)[3..], [1_464, 2_823, 3_967, 4_096]);
}

#[test]
fn the_mean_length_follows_the_aggregates() {
    let mut control = MinstrelHt::new(mode(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800));
    let lengths = [32; 5].map(|mpdus| {
        control.end_chain(Instant::ZERO, mpdus);
        f64::from(control.length) / f64::from(ONE)
    });
    for (length, expected) in lengths.into_iter().zip([8.750, 14.562, 18.922, 22.191, 24.644]) {
        assert!((length - expected).abs() < 0.001, "{lengths:?}");
    }
}

/// The winners of the published table, by the same estimate: frames are lost independently. Modes with as
/// many bits in a symbol, such as MCS 1 and two streams of MCS 0, take the same time.
#[test]
fn the_winner_is_that_of_the_table() {
    let widest = mode(Format::Vht, 9, 2, Width::Mhz80, GuardInterval::Ns800);
    let mut shares = Vec::new();
    for (decibels, mcs, streams) in [
        (2, 0, 1),
        (4, 0, 2),
        (6, 2, 1),
        (8, 1, 2),
        (10, 2, 2),
        (14, 3, 2),
        (18, 4, 2),
        (24, 7, 2),
        (30, 9, 2),
    ] {
        let mut control = MinstrelHt::new(widest);
        // The table has the long guard interval only.
        control.rates.retain(|rate| rate.mode.guard() == GuardInterval::Ns800);
        let ratio = crate::propagation::from_decibels(f64::from(decibels));
        let mut random = SplitMix64::new(7);
        let (mut now, mut wins, mut intervals) = (Instant::ZERO, 0, 0);
        while now < Instant::from_secs(15) {
            let mut chain = control.chain(now, &mut random);
            while let Some(stage) = chain.stage() {
                let mpdus: u32 = if stage.is_probe { 1 } else { 16 };
                let lost = crate::propagation::loss_probability(stage.mode, ratio, 1_200);
                let received = (0..mpdus).filter(|_| random.uniform() >= lost).count() as u32;
                let bits = u64::from(mpdus) * 9_600 * 1_000_000_000;
                now += Duration::from_nanos(bits / stage.mode.bits_per_second() + 200_000);
                control.report(stage.mode, mpdus, received);
                if received > 0 {
                    break;
                }
                chain.fail();
            }
            control.end_chain(now, 16);
            if now > Instant::from_secs(5) {
                intervals += 1;
                let winner = mode(Format::Vht, mcs, streams, Width::Mhz80, GuardInterval::Ns800);
                wins += u32::from(control.best().data_bits() == winner.data_bits());
            }
        }
        let share = f64::from(wins) / f64::from(intervals);
        std::println!("{decibels} dB: MCS {mcs} x {streams} in {share:.3}");
        assert!(share > 0.8, "{decibels} dB: MCS {mcs} x {streams} in {share}");
        shares.push(share);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean > 0.9, "{shares:?}");
}
