use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A packet of 1000 bytes each 20 ms.
fn steady(gaps: &mut Gaps, from: u64, to: u64) {
    for ms in (from..to).step_by(20) {
        gaps.on_packet(at(ms), 1000);
    }
}

#[test]
fn a_gap_with_a_packet_inside_is_one_sentence() {
    let mut gaps = Gaps::default();
    steady(&mut gaps, 0, 8020);
    gaps.on_packet(at(11_000), 1000);
    // A packet without data shows that others are missing.
    gaps.on_missing(55, false);
    gaps.on_packet(at(12_600), 1000);
    gaps.on_missing(100, true);
    // Half the rate for 1.4 s.
    for ms in (12_640..14_000).step_by(40) {
        gaps.on_packet(at(ms), 1000);
    }
    steady(&mut gaps, 14_000, 20_000);
    let [gap] = <[_; 1]>::try_from(gaps.report(Instant::ZERO, true)).unwrap();
    let full = gap.full_rate_s.unwrap();
    assert!((13.9..14.1).contains(&full), "{full}");
    let sentence = "no data from 8.00 to 12.60 s but one packet; 155 packets missing; full rate at ";
    assert_eq!(gap.sentence(), format!("{sentence}{full:.1} s"));
    assert_eq!(gaps.total(), (1, Duration::from_millis(4600)));
}

#[test]
fn a_rate_that_is_back_at_once_and_one_that_does_not_return() {
    let mut gaps = Gaps::default();
    steady(&mut gaps, 0, 1020);
    steady(&mut gaps, 2000, 4020);
    for ms in (5000..8000).step_by(40) {
        gaps.on_packet(at(ms), 1000);
    }
    let sentences: Vec<_> = gaps.report(at(0), false).iter().map(GapReport::sentence).collect();
    let expected =
        ["no data from 1.00 to 2.00 s", "no data from 4.00 to 5.00 s; the full rate did not return"];
    assert_eq!(sentences, expected);
}

#[test]
fn missing_packets_belong_to_the_gap_before_which_they_are() {
    let mut gaps = Gaps::default();
    steady(&mut gaps, 0, 1020);
    gaps.on_missing(3, true);
    gaps.on_missing(7, false);
    steady(&mut gaps, 2000, 4000);
    gaps.on_missing(9, true);
    let missing: Vec<_> = gaps.report(at(0), true).iter().map(|gap| gap.missing).collect();
    assert_eq!(missing, [Some(7)]);
}

#[test]
fn usual_spacings_are_no_gaps() {
    let mut gaps = Gaps::default();
    // Each 2 s, and a first packet long before.
    for ms in (0..60_000).step_by(2000) {
        gaps.on_packet(at(ms), 1000);
    }
    assert_eq!(gaps.total(), (0, Duration::ZERO));
}

#[test]
fn the_longest_gaps_are_kept() {
    let mut gaps = Gaps::default();
    let mut ms = 0;
    for nth in 0..100 {
        steady(&mut gaps, ms, ms + 2000);
        ms += 2300 + nth;
    }
    let kept = gaps.report(at(0), false);
    assert_eq!((gaps.total().0, kept.len()), (99, MAX_GAPS));
    assert!(kept.iter().all(|gap| gap.length_s() > 0.35), "{kept:?}");
}
