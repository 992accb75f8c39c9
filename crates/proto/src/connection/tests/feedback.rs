//! Options of acknowledgements: negotiation and permitted packet types.

use whimbrel_units::Duration;
use whimbrel_wire::option::tfrc::{self, LossInterval};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, Options, Packet, PacketType};

use super::pair::{End, Pair, SentPacket, datagram};
use crate::{Ccid, Config};

const RATE_BASED: [Ccid; 2] = [Ccid::TFRC, Ccid::TFRC_SP];

/// Two connected ends that both send under `ccid` for `time`, over a path that loses each 40th packet.
fn talk(ccid: Ccid, time: Duration) -> Pair {
    let config = Config { sender_ccids: [ccid].into(), receiver_ccids: [ccid].into(), ..Config::default() };
    let mut pair = Pair::connected(config);
    let mut count = 0;
    pair.lose(move |_| {
        count += 1;
        count % 40 == 0
    });
    let until = pair.now + time;
    while pair.now < until {
        for end in [End::Client, End::Server] {
            if pair.end(end).snapshot().queued_datagrams < 2 {
                let now = pair.now;
                pair.end(end).send(now, datagram(0)).unwrap();
            }
        }
        pair.run_for(Duration::from_millis(5));
    }
    pair.deliver_all();
    pair.run_for(Duration::from_secs(1));
    pair
}

/// `true` if a packet carries the options of a receiver of data.
fn has_feedback(sent: &SentPacket) -> bool {
    let is_feedback = |option: &DccpOption| {
        matches!(
            option,
            DccpOption::AckVector { .. }
                | DccpOption::ElapsedTime(_)
                | DccpOption::CcidSpecific { kind: tfrc::LOSS_EVENT_RATE..=tfrc::DROPPED_PACKETS, .. }
        )
    };
    sent.packet.options.iter().any(is_feedback)
}

/// RFC 4340, Sections 11.4 and 13.2; RFC 4342, Sections 8.3, 8.5 and 8.6; RFC 5622, Section 8.
#[test]
fn feedback_leaves_only_with_an_acknowledgement_number() {
    for ccid in RATE_BASED.into_iter().chain([Ccid::TCP_LIKE]) {
        let pair = talk(ccid, Duration::from_secs(10));
        for end in [End::Client, End::Server] {
            let feedback = |packet_type| {
                pair.sent_by(end, packet_type).into_iter().filter(|sent| has_feedback(sent)).count()
            };
            // Feedback rides on data, too, where these may go just then; they are no Data packets then.
            let riding = feedback(PacketType::DataAck);
            assert!(riding + feedback(PacketType::Ack) > 10, "{ccid}");
            assert!(riding > 10 || ccid != Ccid::TCP_LIKE, "{ccid}");
            assert!(pair.sent_by(end, PacketType::Data).len() > 10, "{ccid}");
            assert_eq!(feedback(PacketType::Data), 0, "{ccid}");
        }
        assert!(pair.sent.iter().all(|sent| sent.packet.ack().is_some() || !has_feedback(sent)), "{ccid}");
    }
}

/// RFC 4342, Section 8; RFC 5622, Section 8.
#[test]
fn feedback_on_a_data_packet_is_ignored() {
    for ccid in RATE_BASED {
        let mut pair = talk(ccid, Duration::from_secs(2));
        let interval = LossInterval { lossless_length: 1, nonce: false, loss_length: 1, data_length: 2 };
        let mut options: Options = tfrc::loss_intervals(0, [interval; 9]).collect();
        options.extend(tfrc::dropped_packets([1; 9]));
        options.push(tfrc::receive_rate(1));
        options.push(tfrc::loss_event_rate(2));
        let sequence = pair.last_sequence(End::Server).next();
        let before = pair.client.snapshot().sender;
        let data = Packet { options: options.clone(), ..pair.forge(End::Server, Kind::Data, sequence) };
        pair.inject(End::Client, data);
        assert_eq!(pair.client.snapshot().sender, before, "{ccid}");
        // On an acknowledgement the same options count.
        let ack = Kind::Ack { ack: pair.last_sequence(End::Client) };
        let ack = Packet { options, ..pair.forge(End::Server, ack, sequence.next()) };
        pair.inject(End::Client, ack);
        assert_eq!(pair.client.snapshot().sender.loss_event_rate, Some(0.5), "{ccid}");
    }
}

/// RFC 4341, Section 4. A receiver's own offer does not count.
#[test]
fn a_sender_under_ccid_2_asks_for_ack_vectors_with_its_first_packet() {
    let config = Config {
        sender_ccids: [Ccid::TCP_LIKE].into(),
        receiver_ccids: [Ccid::TCP_LIKE].into(),
        ..Config::default()
    };
    let mut pair = Pair::new(config);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_millis(10));
    let wanted = FeatureOption::preferences(FeatureAction::ChangeR, FeatureNumber::SendAckVector, &[1]);
    assert!(pair.sent[0].packet.options.contains(&DccpOption::Feature(wanted)), "{:?}", pair.sent[0]);
}
