//! Options that are unknown, impossible or unacceptable.

use super::*;

#[test]
fn an_unknown_feature_gets_an_empty_confirm_and_a_reset_if_mandatory() {
    let mut client = End::settled_client();
    client
        .receive(8_001, PacketType::Ack, &[option(ChangeL, 126, &[7]), option(ChangeR, 126, &[7])])
        .unwrap();
    assert_eq!(client.send(500, PacketType::Ack), [option(ConfirmR, 126, &[]), option(ConfirmL, 126, &[])]);
    let reset = client.receive(8_002, PacketType::Ack, &[MUST, option(ChangeL, 126, &[7])]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::MandatoryError, [32, 126, 7])));
    // Confirms of unknown features are ignored, Mandatory or not (Sections 6.6.7 and 6.6.9).
    client.receive(8_003, PacketType::Ack, &[MUST, option(ConfirmL, 126, &[7])]).unwrap();
}

#[test]
fn invalid_values_get_an_empty_confirm_and_a_reset_if_mandatory() {
    let sequence_window = |n: u64| n.to_be_bytes()[2..].to_vec();
    let invalid = [
        (ChangeL, 3, sequence_window(0)),
        (ChangeL, 3, sequence_window(31)),
        (ChangeL, 3, sequence_window(1 << 46)),
        (ChangeL, 3, vec![0, 100]),
        (ChangeL, 5, vec![3]),
        (ChangeL, 6, vec![]),
        // Non-negotiable features know no Change R (Section 6.3.2).
        (ChangeR, 3, sequence_window(100)),
    ];
    for (action, feature, values) in invalid {
        let mut client = End::settled_client();
        let change = option(action, feature, &values);
        client.receive(8_001, PacketType::Ack, std::slice::from_ref(&change)).unwrap();
        let reply = action.reply().unwrap();
        assert_eq!(client.send(500, PacketType::Ack), [option(reply, feature, &[])], "{change:?}");
        assert!(client.negotiation.poll_event().is_none());
        let reset = client.receive(8_002, PacketType::Ack, &[MUST, change]).unwrap_err();
        assert_eq!(
            (reset.code, reset.data[0], reset.data[1]),
            (ResetCode::MandatoryError, action as u8, feature)
        );
    }
    let mut client = End::settled_client();
    client.receive(8_001, PacketType::Ack, &[option(ChangeL, 3, &sequence_window(32))]).unwrap();
    assert_eq!(client.remote(F::SequenceWindow), 32);
}

#[test]
fn with_nothing_shared_the_value_stays_unless_mandatory() {
    let mut server = End::new(Role::Server, preferences(&[2], &[2]));
    server.negotiation.request_change(F::MinimumChecksumCoverage, Location::Local, &[4], false).unwrap();
    server.receive(1, PacketType::Ack, &[option(ChangeR, 8, &[9, 8])]).unwrap();
    assert!(server.send(0, PacketType::Ack).contains(&option(ConfirmL, 8, &[0, 4, 0])));
    let reset = server.receive(2, PacketType::Ack, &[MUST, option(ChangeR, 8, &[9, 8])]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::MandatoryError, [34, 8, 9])));
}

#[test]
fn a_connection_without_a_common_ccid_is_reset() {
    // The bytes are Linux's: 20 01 02.
    let mut server = End::new(Role::Server, preferences(&[3], &[3]));
    let reset = server.receive(1, PacketType::Request, &[option(ChangeL, 1, &[2])]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::OptionError, [32, 1, 2])));
    // And the one that cannot do CCID 2 says so with a Mandatory.
    let mut client = End::new(Role::Client, preferences(&[3], &[3, 2]));
    let options = client.send(0, PacketType::Request);
    assert_eq!(options[..3], [MUST, option(ChangeL, 1, &[3]), option(ChangeR, 1, &[3, 2])]);
}

#[test]
fn a_confirm_of_the_wrong_value_resets_the_connection() {
    for (options, data) in [
        // The server prefers 2, so 3 is wrong.
        (option(ConfirmR, 1, &[3, 2, 3]), [35, 1, 3]),
        // The server's list does not have what it chose, and there is something to share.
        (option(ConfirmR, 1, &[4, 2, 3]), [35, 1, 4]),
    ] {
        let mut client = End::new(Role::Client, preferences(&[3, 2], &[2]));
        client.send(0, PacketType::Request);
        let reset = client.receive(8_000, PacketType::Response, &[options]);
        assert_eq!(reset, Err(Reset::with_data(ResetCode::OptionError, data)));
    }
    let mut client = End::settled_client();
    client.negotiation.request_change(F::AckRatio, Location::Local, &[4], false).unwrap();
    client.send(500, PacketType::Ack);
    let reset = client.receive(8_001, PacketType::Ack, &[option(ConfirmR, 5, &[0, 3])]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::OptionError, [35, 5, 0])));
}

#[test]
fn an_invalid_confirm_is_forgiven_only_while_an_earlier_change_may_be_answered() {
    let ratio = |n: u8| option(ConfirmR, 5, &[0, n]);
    let error = Err(Reset::with_data(ResetCode::OptionError, [35, 5, 0]));
    let ask = |client: &mut End, value, sequence| {
        client.negotiation.request_change(F::AckRatio, Location::Local, &[value], false).unwrap();
        client.send(sequence, PacketType::Ack);
    };
    // A change that was made and confirmed long ago excuses nothing.
    let mut client = End::settled_client();
    ask(&mut client, 4, 500);
    client.receive(8_001, PacketType::Ack, &[ratio(4)]).unwrap();
    ask(&mut client, 5, 700);
    assert_eq!(client.receive(8_002, PacketType::Ack, &[ratio(7)]), error);
    // One that was not answered may be, once for each packet that had it.
    let mut client = End::settled_client();
    ask(&mut client, 4, 500);
    ask(&mut client, 5, 700);
    client.receive(8_001, PacketType::Ack, &[ratio(4)]).unwrap();
    assert_eq!(client.receive(8_002, PacketType::Ack, &[ratio(4)]), error);
    // Once the latest is confirmed, the other end has no use for the earlier one.
    let mut client = End::settled_client();
    ask(&mut client, 4, 500);
    ask(&mut client, 5, 700);
    client.receive(8_001, PacketType::Ack, &[ratio(5)]).unwrap();
    ask(&mut client, 6, 900);
    assert_eq!(client.receive(8_002, PacketType::Ack, &[ratio(4)]), error);
}

#[test]
fn a_contradicting_confirm_causes_a_new_change() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::AckRatio, Location::Local, &[4], false).unwrap();
    client.send(500, PacketType::Ack);
    client.receive(8_001, PacketType::Ack, &[option(ConfirmR, 5, &[0, 4])]).unwrap();
    assert!(client.negotiation.is_quiet());
    // An older Change came late at the other end and was answered.
    client.receive(8_002, PacketType::Ack, &[option(ConfirmR, 5, &[0, 3])]).unwrap();
    assert_eq!(client.local(F::AckRatio), 4);
    assert_eq!(client.send(700, PacketType::Ack), [option(ChangeL, 5, &[0, 4])]);
}

#[test]
fn an_empty_confirm_keeps_the_value_and_ends_the_negotiation() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::CheckDataChecksum, Location::Remote, &[1, 0], false).unwrap();
    client.send(500, PacketType::Ack);
    client.receive(8_001, PacketType::Ack, &[option(ConfirmL, 9, &[])]).unwrap();
    assert!(client.negotiation.is_quiet());
    let event = client.negotiation.poll_event().unwrap();
    assert_eq!((event.feature, event.value, event.changed), (F::CheckDataChecksum, 0, false));
    // But features that every end must support cannot be refused (Section 6.6.7).
    client.negotiation.request_change(F::SequenceWindow, Location::Local, &[500], false).unwrap();
    client.send(900, PacketType::Ack);
    let reset = client.receive(8_002, PacketType::Ack, &[option(ConfirmR, 3, &[])]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::OptionError, [35, 3, 0])));
}

#[test]
fn what_is_required_and_refused_ends_the_connection() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::CheckDataChecksum, Location::Remote, &[1], true).unwrap();
    assert_eq!(client.send(500, PacketType::Ack), [MUST, option(ChangeR, 9, &[1])]);
    let reset = client.receive(8_001, PacketType::Ack, &[option(ConfirmL, 9, &[0, 0])]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::OptionError, [33, 9, 0])));
}

#[test]
fn mandatory_needs_an_option_that_is_understood_after_it() {
    let mut client = End::settled_client();
    let unknown = DccpOption::Unknown { kind: 99, data: OptionBytes::from_slice(&[5, 6, 7]) };
    let mut receive = |sequence, options: &[DccpOption]| client.receive(sequence, PacketType::Ack, options);
    assert_eq!(receive(8_001, std::slice::from_ref(&unknown)), Ok(()));
    assert_eq!(
        receive(8_002, &[MUST, unknown]),
        Err(Reset::with_data(ResetCode::MandatoryError, [99, 5, 6]))
    );
    assert_eq!(receive(8_003, &[MUST, DccpOption::SlowReceiver]), Ok(()));
    assert_eq!(receive(8_004, &[MUST, DccpOption::Padding]), Ok(()));
    let error = Err(Reset::with_data(ResetCode::OptionError, [1, 0, 0]));
    assert_eq!(receive(8_005, &[MUST]), error);
    assert_eq!(receive(8_006, &[MUST, MUST]), error);
}

/// RFC 4340, Section 10.3: a server without CCID 2 understands none of its features on a Request.
#[test]
fn a_server_without_ccid_2_refuses_its_features() {
    let server = || End::new(Role::Server, preferences(&[3], &[3]));
    let change = option(ChangeL, 130, &[1]);
    let reset = server().receive(1, PacketType::Request, &[MUST, change.clone()]);
    assert_eq!(reset, Err(Reset::with_data(ResetCode::MandatoryError, [32, 130, 1])));

    let mut one = server();
    one.receive(1, PacketType::Request, core::slice::from_ref(&change)).unwrap();
    assert!(one.send(10, PacketType::Response).contains(&option(ConfirmR, 130, &[])));
    // One that has CCID 2 waits until it is clear which CCID is meant.
    let mut other = End::new(Role::Server, preferences(&[3, 2], &[3, 2]));
    other.receive(1, PacketType::Request, &[change]).unwrap();
    assert!(!other.send(10, PacketType::Response).contains(&option(ConfirmR, 130, &[])));
}
