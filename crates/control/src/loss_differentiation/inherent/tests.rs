use std::vec::Vec;

use super::*;
use whimbrel_units::{ByteCount, Duration};

mod naive;

/// Packets numbered from 0, one each 20 ms, 500 bytes each; true for those that arrive.
fn feed(inherent: &mut Inherent, arrivals: impl IntoIterator<Item = bool>) -> Vec<(u64, LossClass)> {
    let mut verdicts = Vec::new();
    let mut last = None;
    for (sequence, arrives) in (0u64..).zip(arrivals) {
        if !arrives {
            continue;
        }
        let sent = Instant::ZERO + Duration::from_millis(20) * sequence;
        let at = sent + Duration::from_millis(50);
        inherent.on_arrival(&PacketArrival { at, sequence, size: ByteCount::new(500), sent: Some(sent) });
        let first = last.map_or(sequence, |last| last + 1);
        if first < sequence {
            let gap = LossGap { first, count: sequence - first, before: at, after: at };
            verdicts.push((first, inherent.classify(&gap)));
        }
        last = Some(sequence);
    }
    verdicts
}

/// The least ratio is 3.84 / 2. With p = 0.1 and 10 packets:
/// 3 lost: 3 ln 3 + 7 ln(7/9) = 3.296 - 1.759; 4 lost: 4 ln 4 + 6 ln(6/9) = 5.545 - 2.433.
#[test]
fn the_excess_is_a_likelihood_ratio() {
    let rounded = |lost| (excess(10.0, lost, 0.1) * 1e3).round() / 1e3;
    assert_eq!([1.0, 3.0, 4.0].map(rounded), [0.0, 1.537, 3.112]);
    // 10 ln(1 / 0.1).
    assert_eq!(rounded(10.0), 23.026);
}

#[test]
fn every_loss_is_congestion_until_two_windows_are_complete() {
    let mut inherent = Inherent::new();
    // Every tenth packet: windows of 20 packets end with packets 20 and 40.
    let verdicts = feed(&mut inherent, (0..52).map(|i| i % 10 != 5));
    use LossClass::{Congestion, Wireless};
    assert_eq!(
        verdicts,
        [(5, Congestion), (15, Congestion), (25, Congestion), (35, Congestion), (45, Wireless)]
    );
    assert_eq!(inherent.inherent_loss().map(|p| (p * 1e9).round() / 1e9), Some(0.1));
}

/// 25 packets in each half second, of which 1 in 25 is lost; then 10 of 25.
#[test]
fn a_loss_rate_above_the_usual_one_is_congestion() {
    let mut inherent = Inherent::new();
    let usual = (0..500).map(|i| i % 25 != 7);
    let burst = (0..25).map(|i| i % 5 > 1);
    let verdicts = feed(&mut inherent, usual.chain(burst));
    let (before, during): (Vec<_>, Vec<_>) = verdicts.into_iter().partition(|(first, _)| *first < 500);
    assert!(before[4..].iter().all(|(_, cause)| *cause == LossClass::Wireless), "{before:?}");
    // Recent: 20 to 40 packets. Two runs of two in so few are not much more than 4 %, four are.
    assert_eq!(during.last().map(|(_, cause)| *cause), Some(LossClass::Congestion), "{during:?}");
    let Evidence::Inherent { inherent, limit, sent, lost, excess } = inherent.evidence() else { panic!() };
    assert!((0.03..0.06).contains(&inherent), "{inherent}");
    assert_eq!((limit, lost >= 8, sent < 45), (None, true, true));
    assert!(excess > 1.92);
}

#[test]
fn a_late_packet_is_not_counted_as_lost() {
    let on_time = |sequence: u64| Instant::ZERO + Duration::from_millis(20) * sequence;
    let mut inherent = Inherent::new();
    for sequence in [0u64, 1, 3, 2, 2, 4] {
        let sent = on_time(sequence);
        let at = on_time(10 + sequence.max(3));
        inherent.on_arrival(&PacketArrival { at, sequence, size: ByteCount::new(500), sent: Some(sent) });
    }
    // The duplicate of packet 2 has no effect.
    assert_eq!(inherent.recent(), (5, 0));
}

/// A window of 20 packets, 20 ms apart, 2 of them lost: 18 * 500 bytes were received, so 20 * 500 were sent,
/// in 400 ms.
#[test]
fn lost_packets_count_as_having_the_mean_size() {
    let mut inherent = Inherent::new();
    feed(&mut inherent, (0..21).map(|i| i != 3 && i != 11));
    let newest = inherent.newest.expect("a window");
    assert_eq!((newest.sent, newest.lost), (20, 2));
    assert!((newest.rate - 200e3).abs() < 1e-6, "{}", newest.rate);
}

/// At 1 ms per packet a window lasts 250 packets, since it must be 250 ms long.
#[test]
fn a_window_has_a_least_duration() {
    let mut inherent = Inherent::new();
    for sequence in 0..=250u64 {
        assert_eq!(inherent.newest, None);
        let sent = Instant::ZERO + Duration::from_millis(1) * sequence;
        inherent.on_arrival(&PacketArrival {
            at: sent,
            sequence,
            size: ByteCount::new(125),
            sent: Some(sent),
        });
    }
    assert_eq!(inherent.newest, Some(Window { sent: 250, lost: 0, rate: 1e6 }));
}
