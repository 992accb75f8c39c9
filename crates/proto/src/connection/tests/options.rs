//! Mandatory, unknown and misplaced options (RFC 4340, Section 5.8).

use whimbrel_units::Duration;
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
/// What becomes of the server when it gets an Ack (or Data) with these options.
fn reaction(is_data: bool, options: &[DccpOption]) -> Option<Reset> {
    let mut pair = Pair::connected(config(Duration::ZERO));
    let sequence = pair.client.sequence.numbers.gss().next();
    let ack = pair.client.sequence.numbers.gsr();
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
fn an_understood_option_where_it_does_not_count_cannot_be_mandatory() {
    // Nothing there is to be done with an Init Cookie on an Ack in OPEN, nor with one on a Request.
    let cookie = DccpOption::InitCookie(OptionBytes::from_slice(&[1]));
    assert_eq!(reaction(false, &[cookie]), None);
}
