//! The sender's round-trip time in options (RFC 6323).

use super::*;

#[test]
fn with_the_feature_on_the_timer_of_the_reported_round_trip_time_decides() {
    let mut receiver = receiver();
    receiver.on_feature(ms(0), FeatureNumber::SendRttEstimate, 1);
    let options = [RttEstimate::Micros(200_000).to_option()];
    let with_option = |n| ReceivedPacket { options: &options, ccval: 0, ..data(n) };
    let reports = arrive(&mut receiver, (1..=100).map(with_option));
    let at: Vec<u64> = reports.iter().map(|report| report.at).collect();
    assert_eq!(at, [60, 260, 460, 660, 860]);
    assert_eq!(receiver.snapshot().rtt, Some(Duration::from_millis(200)));
}

/// RFC 6323, Section 3.3: the option's first three bytes, type and length included.
#[test]
fn an_invalid_round_trip_estimate_ends_the_connection() {
    let estimate = |data: &[u8]| DccpOption::CcidSpecific {
        kind: tfrc::RTT_ESTIMATE,
        data: whimbrel_wire::OptionBytes::from_slice(data),
    };
    let violation = |is_on: u64, data: &[u8]| {
        let mut receiver = receiver();
        receiver.on_feature(ms(0), FeatureNumber::SendRttEstimate, is_on);
        let options = [estimate(data)];
        receiver.on_received(ms(60), ReceivedPacket { options: &options, ..super::data(1) });
        let violation = receiver.take_violation();
        assert_eq!(receiver.take_violation(), None, "once");
        violation
    };
    let option_error = |data| Some(Reset::with_data(whimbrel_wire::ResetCode::OptionError, data));
    assert_eq!(violation(1, &[]), option_error([128, 2, 0]));
    assert_eq!(violation(1, &[7, 8, 9, 10]), option_error([128, 6, 7]));
    assert_eq!(violation(1, &[1]), None);
    assert_eq!(violation(0, &[]), None, "not with the feature off");
}

/// By the counter these would be one event: it does not advance.
#[test]
fn the_reported_round_trip_time_separates_loss_events() {
    let mut receiver = receiver();
    receiver.on_feature(ms(0), FeatureNumber::SendRttEstimate, 1);
    let options = [RttEstimate::Micros(100_000).to_option()];
    let with_option = |n| ReceivedPacket { options: &options, ccval: 0, ..data(n) };
    arrive(&mut receiver, (1..=100).filter(but(&[33, 43, 54])).map(with_option));
    // 33 is due at 380, 43 at 480, 54 at 590 ms.
    assert_eq!(
        receiver.law.tfrc().history().intervals().iter().map(|i| i.first % 1000 - 656).collect::<Vec<_>>(),
        [54, 33, 1]
    );
}
