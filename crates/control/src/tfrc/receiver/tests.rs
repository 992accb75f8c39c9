use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::loss_differentiation::{LossClass, Omniscient};
use crate::tfrc::RttSource;

const RTT: Duration = Duration::from_millis(100);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn receiver() -> TfrcReceiver {
    let history = HistoryConfig { first: Some(0), ..HistoryConfig::default() };
    TfrcReceiver::new(ms(0), ReceiverConfig { history, ..ReceiverConfig::default() }, None)
}

/// Packet i of 1000 bytes is sent at 10 i ms and takes 50 ms; the sender signals its round-trip time.
fn packet(sequence: u64) -> TfrcPacket {
    TfrcPacket {
        arrival: ArrivedPacket::new(ms(sequence * 10 + 50), sequence),
        size: ByteCount::new(1000),
        sent: Some(ms(sequence * 10)),
        sender_rtt: Some(RTT),
    }
}

/// Delivers a packet at `at_ms`.
fn arrive(receiver: &mut TfrcReceiver, at_ms: u64, sequence: u64) {
    let arrival = ArrivedPacket::new(ms(at_ms), sequence);
    receiver.on_packet(ms(at_ms), &TfrcPacket { arrival, ..packet(sequence) }, None);
}

/// Delivers packets at their times, with the timer's expirations between them, and records the times of
/// feedback.
fn deliver(
    receiver: &mut TfrcReceiver,
    packets: impl IntoIterator<Item = TfrcPacket>,
) -> Vec<(u64, FeedbackReport)> {
    let mut reports = Vec::new();
    for packet in packets {
        let now = ms(packet.arrival.sequence * 10 + 50);
        while let Some(deadline) = receiver.poll_timeout().filter(|deadline| *deadline <= now) {
            receiver.handle_timeout(deadline);
            reports.extend(receiver.poll_feedback(deadline).map(|report| (deadline.as_millis(), report)));
        }
        receiver.on_packet(now, &packet, None);
        reports.extend(receiver.poll_feedback(now).map(|report| (now.as_millis(), report)));
        assert_eq!(receiver.poll_feedback(now), None);
    }
    reports
}

trait Millis {
    fn as_millis(&self) -> u64;
}
impl Millis for Instant {
    fn as_millis(&self) -> u64 {
        self.as_nanos() / 1_000_000
    }
}

#[test]
fn the_first_packet_is_answered_at_once_with_nothing_measured() {
    let mut receiver = receiver();
    let reports = deliver(&mut receiver, [packet(0)]);
    let expected = FeedbackReport {
        last_sequence: 0,
        last_data_sent: Some(ms(0)),
        delay: Duration::ZERO,
        receive_rate: DataRate::ZERO,
        loss_event_rate: LossEventRate::ZERO,
        new_loss_event: false,
    };
    assert_eq!(reports, [(50, expected)]);
    assert_eq!(receiver.poll_timeout(), Some(ms(150)));
}

#[test]
fn feedback_is_sent_once_per_round_trip_for_the_data_received_in_it() {
    let reports = deliver(&mut receiver(), (0..100).map(packet));
    let times: Vec<u64> = reports.iter().map(|report| report.0).collect();
    assert_eq!(
        times,
        [50, 150, 250, 350, 450, 550, 650, 750, 850, 950, 1050]
            .into_iter()
            .take(times.len())
            .collect::<Vec<_>>()
    );
    assert_eq!(times.len(), 10);
    // Ten packets of 1000 bytes in 100 ms; the tenth of the first interval arrives just at its end.
    let rates: Vec<f64> =
        reports[2..].iter().map(|report| report.1.receive_rate.as_bytes_per_second()).collect();
    assert!(rates.iter().all(|rate| (rate - 100_000.0).abs() < 1e-6), "{rates:?}");
}

#[test]
fn without_a_round_trip_time_each_packet_is_answered() {
    let unknown = |sequence| TfrcPacket { sender_rtt: None, ..packet(sequence) };
    let mut receiver = receiver();
    assert_eq!(deliver(&mut receiver, (0..5).map(unknown)).len(), 5);
    assert_eq!(receiver.poll_timeout(), None);
    // The packet that signals one is answered, too, and sets the timer.
    let reports = deliver(&mut receiver, (5..17).map(packet));
    assert_eq!(reports.iter().map(|report| report.0).collect::<Vec<_>>(), [100, 200]);
}

#[test]
fn a_loss_is_reported_at_once() {
    let mut receiver = receiver();
    let reports = deliver(&mut receiver, (0..40).filter(|&sequence| sequence != 20).map(packet));
    // 20 is declared lost when 23 arrives, at 280 ms.
    let (_, report) = reports.iter().find(|report| report.0 == 280).expect("an early feedback");
    assert!(report.new_loss_event && !report.loss_event_rate.is_zero());
    assert_eq!(report.last_sequence, 23);
    assert!(reports.iter().filter(|report| report.1.new_loss_event).count() == 1);
    // From then on the timer runs from that time.
    assert!(reports.iter().any(|report| report.0 == 380));
}

/// The greatest X_recv is 10 packets per round-trip time, which the equation gives at the p of the first
/// report, 1/(length of the synthetic first interval).
#[test]
fn the_first_loss_keeps_the_rate_that_was_reached() {
    let mut receiver = receiver();
    deliver(&mut receiver, (0..40).filter(|&sequence| sequence != 20).map(packet));
    let packets = super::super::packets_per_round_trip(receiver.loss_event_rate(), 4.0);
    assert!((packets - 10.0).abs() < 0.5, "{packets}");
}

#[test]
fn the_loss_of_the_first_packet_leaves_half_a_packet_per_round_trip() {
    let mut receiver = receiver();
    deliver(&mut receiver, (1..4).map(packet));
    let packets = super::super::packets_per_round_trip(receiver.loss_event_rate(), 4.0);
    assert!((packets - 0.5).abs() < 1e-6, "{packets}");
}

#[test]
fn a_revoked_loss_event_is_reported_at_once() {
    let mut receiver = receiver();
    deliver(&mut receiver, (0..30).filter(|&sequence| sequence != 20).map(packet));
    arrive(&mut receiver, 345, 20);
    let report = receiver.poll_feedback(ms(345)).expect("feedback");
    assert!(report.loss_event_rate.is_zero());
}

#[test]
fn a_duplicate_has_no_effect() {
    let mut receiver = receiver();
    deliver(&mut receiver, (0..5).map(packet));
    arrive(&mut receiver, 99, 3);
    assert_eq!(receiver.poll_feedback(ms(99)), None);
    assert_eq!(receiver.total(), ByteCount::new(5000));
}

#[test]
fn after_silence_the_next_packet_is_answered_at_once() {
    let mut receiver = receiver();
    deliver(&mut receiver, (0..30).map(packet));
    // At 350 ms the last packets are reported; at 450 there is nothing to report.
    receiver.handle_timeout(ms(350));
    assert!(receiver.poll_feedback(ms(350)).is_some());
    receiver.handle_timeout(ms(450));
    assert_eq!((receiver.poll_feedback(ms(450)), receiver.poll_timeout()), (None, None));
    arrive(&mut receiver, 5000, 30);
    let report = receiver.poll_feedback(ms(5000)).expect("feedback");
    // One packet since the last feedback, measured as a packet per round-trip time: X_recv is never less
    // (Section 6.2).
    assert_eq!(report.receive_rate.as_bytes_per_second(), 10_000.0);
    assert_eq!(receiver.poll_timeout(), Some(ms(5100)));
}

#[test]
fn losses_classified_as_wireless_leave_the_rate_at_zero() {
    let history = HistoryConfig { first: Some(0), ..HistoryConfig::default() };
    let config = ReceiverConfig { history, ..ReceiverConfig::default() };
    let mut receiver = TfrcReceiver::new(ms(0), config, None);
    let mut omniscient = Omniscient::new();
    for sequence in [10, 11, 25] {
        omniscient.inform(sequence, LossClass::Wireless);
    }
    for packet in (0..40).filter(|sequence| ![10, 11, 25].contains(sequence)).map(packet) {
        receiver.on_packet(packet.arrival.at, &packet, Some(&mut omniscient));
    }
    assert!(receiver.loss_event_rate().is_zero());
    assert_eq!((receiver.counts().lost, receiver.counts().wireless), (3, 3));
}

proptest! {
    #[test]
    fn reports_are_valid_for_any_arrivals(
        arrivals in proptest::collection::vec(
            (0u64..2000, 0u64..1500, any::<bool>(), proptest::option::of(0u64..2_000_000), 0u64..70_000), 1..200)
    ) {
        let (mut now, mut receiver) = (ms(0), receiver());
        for (sequence, wait, marked, rtt, size) in arrivals {
            now += Duration::from_millis(wait);
            receiver.handle_timeout(now);
            let sender_rtt = rtt.map(Duration::from_micros);
            let arrival = ArrivedPacket { marked, ..ArrivedPacket::new(now, sequence) };
            receiver.on_packet(now, &TfrcPacket { arrival, size: ByteCount::new(size), sent: None, sender_rtt }, None);
            if let Some(report) = receiver.poll_feedback(now) {
                prop_assert!(report.receive_rate.as_bytes_per_second().is_finite());
                prop_assert!(report.loss_event_rate.as_f64().is_finite());
            }
            prop_assert_eq!(receiver.poll_feedback(now), None);
            prop_assert!(receiver.poll_timeout().is_none_or(|deadline| deadline > now));
        }
    }
}

fn receiver_with(rtt: RttSource, estimate: Option<Duration>) -> TfrcReceiver {
    let history = HistoryConfig { first: Some(0), ..HistoryConfig::default() };
    TfrcReceiver::new(ms(0), ReceiverConfig { history, rtt, ..ReceiverConfig::default() }, estimate)
}

/// RFC 4342, Section 10.3. The timer is only a backup, of two round-trip times.
#[test]
fn by_the_window_counter_feedback_is_due_when_it_has_advanced_by_four() {
    let mut receiver = receiver_with(RttSource::WindowCounter, Some(RTT));
    // Counter 0 is on packets 0 to 2, 4 on packets 10 to 12.
    let counted = |sequence| {
        let mut packet = packet(sequence);
        packet.arrival.window_counter = (sequence * 10 / 25 % 16) as u8;
        packet
    };
    let reports = deliver(&mut receiver, (0..45).map(counted));
    assert_eq!(reports.iter().map(|report| report.0).collect::<Vec<_>>(), [50, 150, 250, 350, 450]);
    assert_eq!(receiver.poll_timeout(), Some(ms(650)));
}

/// RFC 6323, Section 3.4, unlike RFC 5348, Section 6.3.
#[test]
fn with_averaged_reports_half_a_second_is_assumed_until_there_is_one() {
    let mut receiver = receiver_with(RttSource::Average, None);
    assert_eq!(deliver(&mut receiver, (0..5).map(packet)).len(), 1);
    assert_eq!(receiver.poll_timeout(), Some(ms(550)));
    receiver.rtt_mut().on_report(ms(100), Some(RTT));
    assert_eq!(deliver(&mut receiver, (5..52).map(packet)).len(), 1);
    assert_eq!(receiver.poll_timeout(), Some(ms(650)));
}
