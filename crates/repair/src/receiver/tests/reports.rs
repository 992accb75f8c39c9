//! The number of reports.

use super::*;

/// A path that is almost nothing: of every ten packets one arrives.
#[test]
fn reports_are_repeated_only_as_far_as_arrivals_pay_for_that() {
    let frames = 500;
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let mut out = vec![];
    let (mut bytes, mut packets) = (0, packets(frames).into_iter().enumerate().peekable());
    for time in 0..20 * frames {
        while let Some((n, (_, packet))) = packets.next_if(|(_, (sent, _))| *sent <= time) {
            if n % 10 == 0 {
                bytes += packet.len() + 60;
                receiver.handle_packet(at(time), &packet).unwrap();
            }
        }
        while receiver.poll_delivery(at(time), &mut out).is_some() {}
        while receiver.poll_transmit(at(time), &mut out).is_some() {}
    }
    // Two for each frame, and repetitions for 4096 bytes and an eighth of what arrives, of at least 70 each.
    let most = 2 * frames + (4096 + bytes as u64 / 8) / 70;
    let reports = receiver.counts().reports;
    assert!(reports <= most && reports > frames / 2, "{reports} reports, {most} at most");
}

/// The end of every sixth frame is late, ten times, and lost from then on.
#[test]
fn packets_that_were_late_three_times_are_awaited() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let mut overdue = [0, 0];
    for (n, (sent, packet)) in packets(120).into_iter().enumerate() {
        let (frame, is_end) = (n / 3, n % 18 == 17);
        let (is_late, is_lost) = (is_end && frame < 60, is_end && frame >= 60);
        let arrival = sent + if is_late { 15 } else { 0 };
        for now in [at(sent), at(arrival)] {
            receiver.handle_timeout(now);
            while let Some(report) = reported(&mut receiver, now) {
                overdue[usize::from(frame > 60)] += u32::from(report.is_overdue);
            }
        }
        if !is_lost {
            receiver.handle_packet(at(arrival), &packet).unwrap();
        }
        delivered(&mut receiver, at(arrival));
    }
    assert_eq!(overdue[0], 3, "late");
    // Three of the ten that were lost show that time is a sign again, and nothing follows the last.
    assert_eq!(overdue[1], 6, "lost");
}
