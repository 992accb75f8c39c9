//! Mandatory, unknown and misplaced options (RFC 4340, Section 5.8).

use whimbrel_units::Duration;
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, OptionBytes, Packet, Reset, ResetCode};

use super::fixed_rate::SEEN;
use super::pair::{End, Pair, config};
use crate::{ConnectionError, Event, State};

fn unknown() -> DccpOption {
    DccpOption::Unknown { kind: 99, data: OptionBytes::from_slice(&[1, 2, 3]) }
}

fn ccid_specific(kind: u8) -> DccpOption {
    DccpOption::CcidSpecific { kind, data: OptionBytes::from_slice(&[9]) }
}

/// State of the server after an Ack (or Data) with these options.
fn reaction(is_data: bool, options: &[DccpOption]) -> Option<Reset> {
    let mut pair = Pair::connected(config(Duration::ZERO));
    let sequence = pair.client.cx.sequence.numbers.gss().next();
    let ack = pair.client.cx.sequence.numbers.gsr();
    let kind = if is_data { Kind::Data } else { Kind::Ack { ack } };
    let packet = Packet { options: options.into(), ..pair.forge(End::Client, kind, sequence) };
    pair.inject(End::Server, packet);
    pair.drain();
    let sent = pair.sent.iter().find_map(|sent| match sent.packet.kind {
        Kind::Reset { reset, ack } => {
            assert_eq!(ack, sequence, "it acknowledges the packet that caused it");
            Some(reset)
        }
        _ => None,
    });
    if let Some(reset) = sent {
        assert_eq!(pair.server().state(), State::Closed);
        assert!(pair.server_events.contains(&Event::Closed(ConnectionError::ResetLocally(reset))));
    } else {
        assert_eq!(pair.server().state(), State::Open);
    }
    sent
}

#[test]
fn an_unknown_option_is_ignored() {
    assert_eq!(reaction(false, &[unknown(), ccid_specific(150)]), None);
}

#[test]
fn an_unknown_option_after_mandatory_resets_with_code_6() {
    let expected = Reset::with_data(ResetCode::MandatoryError, [99, 1, 2]);
    assert_eq!(reaction(false, &[DccpOption::Mandatory, unknown()]), Some(expected));
}

#[test]
fn a_reset_that_asks_too_much_is_answered_once() {
    // RFC 4340, Section 5.6: options on Resets are processed first, and Mandatory may have a Reset answered
    // with another. That is no storm: the end that sent the first has no connection any more.
    let mut pair = Pair::connected(config(Duration::ZERO));
    let now = pair.now;
    pair.client.abort(now);
    let mut reset = pair.client.poll_transmit(now).expect("a Reset").packet;
    reset.options = [DccpOption::Mandatory, unknown()].into_iter().collect();
    pair.forget();
    pair.inject(End::Server, reset.clone());
    pair.drain();
    pair.deliver_all();
    let expected = Reset::with_data(ResetCode::MandatoryError, [99, 1, 2]);
    let sent: Vec<_> = pair.sent.iter().map(|sent| (sent.from, sent.packet.kind)).collect();
    assert_eq!(sent, [(End::Server, Kind::Reset { ack: reset.sequence, reset: expected })]);
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(pair.server().state(), State::Closed);
}

#[test]
fn an_option_of_the_congestion_control_after_mandatory_must_be_one_it_knows() {
    assert_eq!(reaction(false, &[DccpOption::Mandatory, ccid_specific(SEEN)]), None);
    let expected = Reset::with_data(ResetCode::MandatoryError, [201, 9, 0]);
    assert_eq!(reaction(false, &[DccpOption::Mandatory, ccid_specific(201)]), Some(expected));
}

#[test]
fn mandatory_before_nothing_or_before_mandatory_resets_with_code_5() {
    let expected = Reset::with_data(ResetCode::OptionError, [1, 0, 0]);
    assert_eq!(reaction(false, &[DccpOption::Mandatory]), Some(expected));
    assert_eq!(reaction(false, &[DccpOption::Mandatory, DccpOption::Mandatory, unknown()]), Some(expected));
}

#[test]
fn mandatory_before_padding_is_padding() {
    assert_eq!(reaction(false, &[DccpOption::Mandatory, DccpOption::Padding, unknown()]), None);
}

#[test]
fn mandatory_on_data_is_ignored() {
    assert_eq!(reaction(true, &[DccpOption::Mandatory, unknown()]), None);
    assert_eq!(reaction(true, &[DccpOption::Mandatory]), None);
}

#[test]
fn an_init_cookie_from_open_on_is_ignored_and_cannot_be_mandatory() {
    // RFC 4340, Sections 8.1.4 and 5.8.2.
    let cookie = DccpOption::InitCookie(OptionBytes::from_slice(&[1, 2, 3]));
    assert_eq!(reaction(false, core::slice::from_ref(&cookie)), None);
    let failure = Reset::with_data(ResetCode::MandatoryError, [36, 1, 2]);
    assert_eq!(reaction(false, &[DccpOption::Mandatory, cookie]), Some(failure));
}

#[test]
fn what_cannot_be_read_or_not_be_done_resets_after_mandatory() {
    let mandatory = |option: DccpOption| reaction(false, &[DccpOption::Mandatory, option]);
    let failure = |data| Some(Reset::with_data(ResetCode::MandatoryError, data));
    // RFC 4340, Section 5.8.2: an unknown type, data of a wrong length, a length beyond the options.
    assert_eq!(mandatory(DccpOption::Unknown { kind: 5, data: OptionBytes::new() }), failure([5, 0, 0]));
    let short = OptionBytes::from_slice(&[7, 8]);
    assert_eq!(mandatory(DccpOption::Unknown { kind: 41, data: short }), failure([41, 7, 8]));
    let beyond = OptionBytes::from_slice(&[44, 9, 1, 2]);
    assert_eq!(mandatory(DccpOption::Malformed(beyond)), failure([44, 1, 2]));
    // An unknown feature, a value that a known one cannot have, and one that this end does not accept.
    let change = |feature: u8, values: &[u8]| {
        DccpOption::Feature(FeatureOption::preferences(FeatureAction::ChangeL, feature, values))
    };
    assert_eq!(mandatory(change(99, &[1])), failure([32, 99, 1]));
    assert_eq!(mandatory(change(3, &[0, 0, 0, 0, 0, 31])), failure([32, 3, 0]));
    assert_eq!(mandatory(change(1, &[77])), failure([32, 1, 77]));
    // Valid changes succeed.
    assert_eq!(mandatory(change(3, &[0, 0, 0, 0, 0, 32])), None);
    assert_eq!(mandatory(DccpOption::Timestamp(9)), None);
    assert_eq!(mandatory(DccpOption::SlowReceiver), None);
    assert_eq!(mandatory(DccpOption::DataChecksum(0)), None, "the CRC of nothing is zero");
}

#[test]
fn a_mandatory_change_on_data_is_ignored() {
    let change = FeatureOption::preferences(FeatureAction::ChangeL, 99, &[1]);
    assert_eq!(reaction(true, &[DccpOption::Mandatory, DccpOption::Feature(change)]), None);
}

#[test]
fn a_peer_cannot_pile_up_events_before_an_application_that_does_not_read() {
    let mut pair = Pair::connected(config(Duration::from_millis(1)));
    for turn in 0..1_000 {
        let ratio = FeatureOption::number(FeatureAction::ChangeL, FeatureNumber::AckRatio, 2 + turn % 2);
        let (ack, sequence) =
            (pair.client.cx.sequence.numbers.gss(), pair.client.cx.sequence.numbers.gsr().next());
        let mut packet = pair.forge(End::Server, Kind::Ack { ack }, sequence);
        packet.options.push(DccpOption::Feature(ratio));
        packet.options.push(DccpOption::SlowReceiver);
        pair.now += Duration::from_millis(200);
        pair.inject(End::Client, packet);
    }
    assert_eq!(pair.client.snapshot().holdings.events, 2);
    let events: Vec<Event> = core::iter::from_fn(|| pair.client.poll_event()).collect();
    let latest = Event::FeatureChanged { feature: 5, local: false, value: 3 };
    assert_eq!(events, [latest, Event::SlowReceiver]);
}
