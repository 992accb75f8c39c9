use super::*;
use crate::tcp::LossDetection;

fn config(window: u32) -> TcpConfig {
    let mut config = Script::rfc(Variant::Sack, window);
    config.recovery.detection = LossDetection::AtTheEnd;
    config
}

impl Script {
    /// The acknowledgement of that segment alone, with a FIN if it has the last byte of the data.
    fn arrived(&mut self, number: u64, has_fin: bool) -> &mut Self {
        let ack = (number + 1) * 1000 + u64::from(has_fin);
        let segment =
            Segment { seq: number * 1000, ack, window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
        self.receive(&segment)
    }
}

#[test]
fn nothing_is_repeated_while_the_application_may_send() {
    let mut script = Script::fill(config(4), 4);
    // The network keeps the order: the acknowledgement of 3 ends the wait for 0 to 2.
    script.arrived(3, false).sends(4..8);
    script.arrived(5, false).sends(8..10);
    // No acknowledgement: after two round-trip times nothing is in the network.
    script.timeout().sends(10..14);
    assert_eq!(script.sender.snapshot().retransmits, 0);
}

#[test]
fn an_acknowledgement_that_comes_late_frees_nothing() {
    let mut script = Script::fill(config(4), 4);
    script.arrived(3, false).sends(4..8);
    script.arrived(1, false).sends_nothing();
}

#[test]
fn the_missing_data_of_an_application_that_has_ended_is_sent_in_passes() {
    let mut script = Script::idle(config(8));
    script.sender.send(6000);
    script.sender.close();
    let sent: Vec<_> = std::iter::from_fn(|| script.sender.poll_transmit(script.now)).collect();
    assert_eq!(sent.len(), 6);
    script.wait(100).arrived(0, false).arrived(3, false).arrived(5, true).sends_nothing();
    let due = script.sender.poll_timeout().unwrap();
    assert_eq!(due - script.now, Duration::from_millis(200));
    script.timeout().sends([1, 2, 4]);
    script.wait(100).arrived(2, false).sends_nothing();
    script.timeout().sends([1, 4]);
    assert!(!script.sender.is_finished());
    script.wait(100).arrived(1, false).arrived(4, false).sends_nothing();
    assert!(script.sender.is_finished());
    assert_eq!((script.sender.snapshot().retransmits, script.sender.poll_timeout()), (5, None));
}

#[test]
fn the_window_limits_what_may_be_in_the_network() {
    let mut limited = config(8);
    limited.window.limit = Some(3.0);
    let mut script = Script::new(limited);
    script.sends(0..3).wait(100);
    script.arrived(0, false).sends([3]);
    script.arrived(2, false).sends(4..6);
}
