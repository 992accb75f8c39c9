use super::*;
use crate::tcp::LimitedTransmit;

#[test]
fn the_first_two_duplicates_release_a_new_segment_each() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let mut config = Script::rfc(variant, 10);
        config.recovery.limited_transmit = LimitedTransmit::On;
        let mut script = Script::fill(config, 10);
        script.ack(0).sends([10]).ack(0).sends([11]).ack(0).sends([0]);
        // The two are not counted in the halved quantity (RFC 5681, Section 3.2, step 2).
        assert_eq!(script.sender.snapshot().ssthresh, 5.0);
    }
}

#[test]
fn a_window_of_three_recovers_without_a_timeout() {
    // 0 of three is lost; only two duplicates come for 1 and 2, but limited transmit brings two more.
    let mut config = Script::rfc(Variant::NewReno, 3);
    config.recovery.limited_transmit = LimitedTransmit::On;
    let mut script = Script::fill(config, 3);
    script.ack(0).sends([3]).ack(0).sends([4]);
    script.wait(100).ack(0).sends([0]);
}

#[test]
fn without_it_duplicates_release_nothing() {
    let mut script = Script::fill(Script::rfc(Variant::NewReno, 3), 3);
    script.ack(0).ack(0).sends_nothing();
    let mut config = Script::rfc(Variant::Sack, 3);
    config.recovery.limited_transmit = LimitedTransmit::Off;
    let mut script = Script::fill(config, 3);
    script.sack(0, &[(1, 2)]).sends_nothing().sack(0, &[(1, 3)]).sends_nothing();
}

#[test]
fn it_does_not_exceed_the_receivers_window() {
    let mut config = Script::rfc(Variant::NewReno, 10);
    config.recovery.limited_transmit = LimitedTransmit::On;
    config.window.limit = Some(10.0);
    let mut script = Script::fill(config, 10);
    script.ack(0).sends_nothing().ack(0).sends_nothing();
}

#[test]
fn it_sends_no_old_data_except_in_ns_2() {
    for (limited_transmit, sent) in [(LimitedTransmit::On, vec![]), (LimitedTransmit::Any, vec![1])] {
        let mut config = Script::rfc(Variant::NewReno, 10);
        config.recovery.limited_transmit = limited_transmit;
        let mut script = Script::fill(config, 10);
        script.timeout().sends([0]).ack(0).sends(sent);
    }
}

#[test]
fn with_sack_what_has_arrived_makes_room() {
    let mut script = Script::fill(Script::rfc(Variant::Sack, 10), 10);
    script.sack(0, &[(1, 2)]).sends([10]).sack(0, &[(1, 3)]).sends([11]);
    // A duplicate without new blocks makes none (RFC 5681, Section 3.2, step 1).
    script.sack(0, &[(1, 3)]).sends_nothing();
    script.sack(0, &[(1, 4)]);
    assert_eq!(script.drain()[0], 0);
    assert_eq!(script.sender.snapshot().ssthresh, 5.0);
}
