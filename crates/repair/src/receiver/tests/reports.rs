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
