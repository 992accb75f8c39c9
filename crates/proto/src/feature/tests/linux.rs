//! The handshakes of Linux 6.1, as captured between two Linux kernels: it gives up with Reset 9
//! unless every Change of its Response is confirmed in the client's next packet.

use whimbrel_wire::Packet;

use super::*;

const CCID2_REQUEST: &str = "d56413890e00025a010034baaa46b5680000002a0000290600019a0620040102220401020120040200\
    012004040101220406010120040601";
const CCID2_RESPONSE: &str = "1389d564150037160300d28680b9ca68000034baaa46b5680000002a00002a0800019a0600012906\
    0001a5e821050102022305010202012004020023050200000120040401230504010101220406010120040601";
const CCID2_THIRD: &str = "d56413890d0010fd070034baaa46b5690000d28680b9ca682a080001a5e80004230502000023050401\
    0123050601012105060101";
const CCID3_REQUEST: &str = "a514138913003d02010025b4488f0db40000002a290600018ccf2004010322040103012004020001\
    20040401200505000022040600200406002004070101220407010122\
    04c001012004c001";
const CCID3_RESPONSE: &str = "1389a5141c0097a003000a0ba5f5a868000025b4488f0db40000002a0000002a0800018ccf000129\
    06000198b9210501030323050103030120040200230502000001200404012305040101200505000023050500002204060020040600\
    200407010122040701012204c001012004c001";

fn packet(hex: &str) -> Packet {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    Packet::decode_slice(&bytes).unwrap()
}

/// The Confirms that the Changes among `options` call for: action, feature and value chosen.
fn wanted(options: &[DccpOption]) -> Vec<(FeatureAction, u8, u8)> {
    let changes = options.iter().filter_map(|option| match option {
        DccpOption::Feature(change) => change.action.reply().map(|r| (r, change.feature, change.values[0])),
        _ => None,
    });
    sorted(changes.collect())
}

fn confirmed(options: &[DccpOption]) -> Vec<(FeatureAction, u8, u8)> {
    let confirms = options.iter().filter_map(|option| match option {
        DccpOption::Feature(o) if !o.action.is_change() => Some((o.action, o.feature, o.values[0])),
        _ => None,
    });
    sorted(confirms.collect())
}

fn sorted(mut answers: Vec<(FeatureAction, u8, u8)>) -> Vec<(FeatureAction, u8, u8)> {
    answers.sort_by_key(|(action, feature, value)| (*feature, *action as u8, *value));
    answers
}

/// A client's reaction to a captured Response to a Request of its own.
fn third_packet(client: &mut End, response: &Packet) -> Vec<DccpOption> {
    client.send(0, PacketType::Request);
    client.receive(response.sequence.value(), PacketType::Response, &response.options).unwrap();
    client.send(10, PacketType::Ack)
}

#[test]
fn every_change_of_its_response_is_confirmed_in_the_next_packet() {
    for (ccid, response) in [(2, CCID2_RESPONSE), (3, CCID3_RESPONSE)] {
        // The kernel offered one CCID; this end offers two, in either order.
        for list in [[2, 3], [3, 2]] {
            let mut client = End::new(Role::Client, preferences(&list, &list));
            let response = packet(response);
            let third = third_packet(&mut client, &response);
            assert_eq!(confirmed(&third), wanted(&response.options));
            assert_eq!(client.negotiation.ccid(Location::Local), Ccid(ccid));
            assert_eq!(client.negotiation.ccid(Location::Remote), Ccid(ccid));
        }
    }
}

#[test]
fn under_ccid_2_both_ends_send_ack_vectors_after_one_round_trip() {
    let mut client = End::new(Role::Client, preferences(&[3, 2], &[3, 2]));
    let third = third_packet(&mut client, &packet(CCID2_RESPONSE));
    assert!(client.negotiation.is_on(F::SendAckVector, Location::Local));
    assert!(client.negotiation.is_on(F::SendAckVector, Location::Remote));
    assert!(client.negotiation.is_on(F::EcnIncapable, Location::Remote));
    assert!(!client.negotiation.is_on(F::EcnIncapable, Location::Local));
    // Nothing is left to ask for.
    assert!(wanted(&third).is_empty() && client.negotiation.is_quiet(), "{third:?}");
}

#[test]
fn under_ccid_3_it_gets_what_it_asks_for() {
    let mut client = End::new(Role::Client, preferences(&[3], &[3]));
    third_packet(&mut client, &packet(CCID3_RESPONSE));
    for location in Location::BOTH {
        assert!(client.negotiation.is_on(F::SendNdpCount, location));
        assert!(client.negotiation.is_on(F::SendLossEventRate, location));
        assert!(!client.negotiation.is_on(F::SendAckVector, location));
    }
    assert_eq!(client.remote(F::AckRatio), 0);
}

#[test]
fn its_request_is_answered_in_full() {
    for (ccid, request) in [(2, CCID2_REQUEST), (3, CCID3_REQUEST)] {
        let request = packet(request);
        let mut server = End::new(Role::Server, preferences(&[3, 2], &[3, 2]));
        server.receive(request.sequence.value(), PacketType::Request, &request.options).unwrap();
        let response = server.send(0, PacketType::Response);
        assert_eq!(confirmed(&response), wanted(&request.options));
        assert_eq!(server.negotiation.ccid(Location::Local), Ccid(ccid));
    }
}

#[test]
fn its_own_answer_settles_what_the_response_asked_for() {
    // The server of the capture, played by this end.
    let request = packet(CCID2_REQUEST);
    let mut server = End::new(Role::Server, preferences(&[2], &[2]));
    server.receive(request.sequence.value(), PacketType::Request, &request.options).unwrap();
    server.negotiation.request_change(F::AllowShortSequenceNumbers, Location::Local, &[0, 1], false).unwrap();
    server.send(0, PacketType::Response);
    let third = packet(CCID2_THIRD);
    server.receive(third.sequence.value(), PacketType::Ack, &third.options).unwrap();
    assert!(server.negotiation.is_quiet());
    assert!(server.negotiation.is_on(F::SendAckVector, Location::Local));
    assert!(server.negotiation.is_on(F::EcnIncapable, Location::Remote));
}
