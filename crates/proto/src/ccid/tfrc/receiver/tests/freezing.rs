//! A sender that returns from a handover.

use whimbrel_control::freeze::{ReceiverState, equivalent_interval};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::option::tfrc::ProbeRule;

use super::*;

fn with_options(options: &'static [DccpOption], n: u64) -> ReceivedPacket<'static> {
    ReceivedPacket { options, ..data(n) }
}

fn leaked(option: DccpOption) -> &'static [DccpOption] {
    Vec::leak(vec![option])
}

/// A receiver with the feature Freezing, after packets 1 to 40 with one loss, one every ten milliseconds.
fn receiver() -> Receiver {
    let mut receiver = super::receiver();
    receiver.on_feature(ms(0), FeatureNumber::Freezing, 1);
    arrive(&mut receiver, (1..=40).filter(but(&[20])).map(data));
    receiver
}

fn says_unfrozen(receiver: &mut Receiver, now: u64) -> bool {
    receiver.law.tfrc_mut().request_feedback();
    let mut options = Options::new();
    receiver.write_feedback(ms(now), seq(receiver.law.tfrc().greatest()), &mut options);
    options.contains(&tfrc::unfrozen())
}

fn state(receiver: &Receiver) -> Option<ReceiverState> {
    receiver.snapshot().freeze
}

#[test]
fn unfrozen_is_sent_when_the_receive_rate_covers_a_round_trip_time_of_the_restored_stream() {
    let mut receiver = receiver();
    let restoring = leaked(tfrc::restoring(ProbeRule::Loss));
    // Packet n arrives at 10 n + 50 ms: the first of the restored ones at 10 s.
    for n in 995..1004 {
        receiver.on_received(ms(n * 10 + 50), with_options(restoring, n - 954));
        assert!(!says_unfrozen(&mut receiver, n * 10 + 50), "{n}");
    }
    assert_eq!(state(&receiver), Some(ReceiverState::Restoration));
    receiver.on_received(ms(10_100), with_options(restoring, 50));
    assert!(says_unfrozen(&mut receiver, 10_100));
    // Nine packets of 1000 bytes in 100 ms after the first; nothing from before the restoration spoils that.
    assert!(
        (receiver.law.tfrc().receive_rate().as_bytes_per_second() - 90_000.0).abs() < 1.0,
        "{:?}",
        receiver.law.tfrc().receive_rate()
    );
}

/// The other path has the longer round-trip time, which the sender reports once it knows. The feedback timer,
/// still set by the old one, expires between two frames of a video.
#[test]
fn a_restored_stream_on_a_longer_path_is_measured_over_the_longer_round_trip_time() {
    let mut receiver = receiver();
    receiver.on_feature(ms(0), FeatureNumber::SendRttEstimate, 1);
    let restoring = |rtt_micros| leaked(tfrc::restoring(ProbeRule::ReceiveRate { rtt_micros }));
    let (old, new) = (restoring(20_000), restoring(50_000));
    let report_at = |receiver: &mut Receiver, now: u64| {
        receiver.handle_timeout(ms(now));
        assert!(receiver.feedback_due(ms(now)), "{now}");
        receiver.write_feedback(ms(now), seq(receiver.law.tfrc().greatest()), &mut Options::new());
        receiver.law.tfrc().receive_rate().as_bytes_per_second()
    };
    for (n, at) in [(41, 10_000), (42, 10_060), (43, 10_065), (44, 10_095), (45, 10_098)] {
        receiver.on_received(ms(at), with_options(old, n));
        match n {
            // The first packet after a silence is answered at once.
            41 | 42 => _ = report_at(&mut receiver, at),
            43 => _ = report_at(&mut receiver, 10_080),
            45 => assert_eq!(report_at(&mut receiver, 10_100), 100_000.0),
            _ => {}
        }
    }
    receiver.handle_timeout(ms(10_120));
    assert!(!receiver.feedback_due(ms(10_120)), "there is nothing to report");
    receiver.on_received(ms(10_140), with_options(new, 46));
    // Three packets of 1000 bytes in the 60 ms since the report at 10.080 s.
    assert_eq!(report_at(&mut receiver, 10_140).round(), 50_000.0);
}

#[test]
fn a_loss_while_probed_creates_a_history_that_fits_the_receive_rate() {
    let mut receiver = receiver();
    let probing = leaked(tfrc::probing(ProbeRule::Loss));
    let reports = arrive(&mut receiver, (41..=84).filter(but(&[80])).map(|n| with_options(probing, n)));
    assert_eq!(state(&receiver), Some(ReceiverState::Recovery2));
    let last = &reports[reports.len() - 1];
    let [(_, 1, _), (_, 0, length)] = last.intervals[..] else { panic!("{last:?}") };
    // X_recv in packets; nine or ten arrive in a round-trip time, at which p is 1/65 to 1/80.
    let fitting = equivalent_interval(f64::from(last.receive_rate) / 1000.0, Duration::from_millis(100), 4.0);
    assert_eq!(f64::from(length), fitting.round());
    assert!((65..=80).contains(&length), "{length}");
    let rate = receiver.law.tfrc().history().loss_event_rate();
    assert!((rate.as_f64() * f64::from(length) - 1.0).abs() < 1e-12, "all eight are of that length: {rate}");
    // Plain packets end it, and losses count as ever.
    arrive(&mut receiver, (85..=104).filter(but(&[100])).map(data));
    assert_eq!(state(&receiver), Some(ReceiverState::Normal));
    assert!(receiver.law.tfrc().history().loss_event_rate() >= rate);
}

#[test]
fn a_request_to_settle_creates_it_without_a_loss() {
    let mut receiver = receiver();
    arrive(
        &mut receiver,
        (41..=80).map(|n| with_options(leaked(tfrc::probing(ProbeRule::ReceiveRate { rtt_micros: 0 })), n)),
    );
    assert_eq!(state(&receiver), Some(ReceiverState::Probed));
    let reports = arrive(
        &mut receiver,
        (81..=84).map(|n| with_options(leaked(tfrc::probing(ProbeRule::Settle { rtt_micros: 0 })), n)),
    );
    assert_eq!(reports.len(), 1, "at once, and once");
    let [(_, 1, 1), (_, 0, length)] = reports[0].intervals[..] else { panic!("{reports:?}") };
    assert!((78..=83).contains(&length), "ten packets in a round-trip time: {length}");
    assert_eq!(state(&receiver), Some(ReceiverState::Settled));
}

#[test]
fn the_synthetic_history_fits_at_the_senders_round_trip_time() {
    let mut receiver = receiver();
    // The receiver's own is 100 ms. On the new path it is 200 ms, in which twice as many packets arrive.
    let probing = leaked(tfrc::probing(ProbeRule::ReceiveRate { rtt_micros: 200_000 }));
    arrive(&mut receiver, (41..=120).map(|n| with_options(probing, n)));
    assert_eq!(receiver.law.tfrc().rtt().value(), Duration::from_millis(200));
    let settle = leaked(tfrc::probing(ProbeRule::Settle { rtt_micros: 200_000 }));
    let reports = arrive(&mut receiver, [with_options(settle, 121)]);
    let [(_, 1, 1), (_, 0, length)] = reports[0].intervals[..] else { panic!("{reports:?}") };
    let rate = f64::from(reports[0].receive_rate) / 1000.0;
    let fitting = equivalent_interval(rate, Duration::from_millis(200), 4.0);
    assert!((f64::from(length) - fitting).abs() < 2.0, "{length} for {rate} packets per second");
    assert!(length > 270, "{length}, not 80");
}

#[test]
fn options_of_a_packet_out_of_order_are_outdated() {
    let mut receiver = receiver();
    let probing = leaked(tfrc::probing(ProbeRule::Loss));
    receiver.on_received(ms(500), with_options(probing, 42));
    receiver.on_received(ms(501), with_options(leaked(tfrc::restoring(ProbeRule::Loss)), 41));
    assert_eq!(state(&receiver), Some(ReceiverState::Probed));
}

#[test]
fn without_the_feature_the_options_mean_nothing() {
    let mut receiver = super::receiver();
    let probing = leaked(tfrc::probing(ProbeRule::Settle { rtt_micros: 0 }));
    let reports = arrive(&mut receiver, (1..=40).filter(but(&[20])).map(|n| with_options(probing, n)));
    let mut plain = super::receiver();
    assert_eq!(reports, arrive(&mut plain, (1..=40).filter(but(&[20])).map(data)));
    assert_eq!(state(&receiver), None);
}
