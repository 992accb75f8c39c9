//! CCIDs with other window laws in a connection: their negotiation, and the ECN codepoints of their packets.

use whimbrel_units::Duration;
use whimbrel_wire::{Ecn, PacketType};

use super::pair::{End, Pair};
use crate::ccid::Registry;
use crate::{Ccid, Config, State};

fn accepting(ccids: &[Ccid]) -> Config {
    let ccids = || ccids.iter().copied().collect();
    Config {
        sender_ccids: ccids(),
        receiver_ccids: ccids(),
        ccids: Registry::default().with_window_laws(),
        ..Config::default()
    }
}

const LAWS: [Ccid; 4] = [Ccid::CUBIC, Ccid::VENO, Ccid::WESTWOOD, Ccid::PRAGUE];

#[test]
fn two_ends_that_have_a_law_agree_on_it() {
    for ccid in LAWS {
        let mut pair = Pair::connected(accepting(&[ccid]));
        for tag in 0..20 {
            pair.send(End::Client, tag);
            pair.send(End::Server, tag);
            pair.run_for(Duration::from_millis(100));
        }
        assert_eq!(pair.received(End::Server), (0..20).collect::<Vec<_>>(), "{ccid}");
        assert_eq!(pair.received(End::Client), (0..20).collect::<Vec<_>>(), "{ccid}");
        for snapshot in [pair.client.snapshot(), pair.server().snapshot()] {
            assert_eq!((snapshot.sender_ccid, snapshot.receiver_ccid), (ccid, ccid));
            assert!(snapshot.sender.cwnd.is_some());
        }
    }
}

#[test]
fn a_peer_that_lacks_the_law_gets_the_next_choice() {
    let server = Config::default();
    assert!(server.ccids.mechanism(Ccid::CUBIC).is_none());
    let mut pair = Pair::with(accepting(&[Ccid::CUBIC, Ccid::TCP_LIKE]), server);
    pair.client.connect(pair.now);
    pair.send(End::Client, 7);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.received(End::Server), [7]);
    assert_eq!(pair.client.snapshot().sender_ccid, Ccid::TCP_LIKE);
    assert_eq!(pair.client.snapshot().receiver_ccid, Ccid::TCP_LIKE);
}

#[test]
fn a_peer_that_lacks_the_only_choice_is_not_connected_to() {
    for ccid in LAWS {
        let mut pair = Pair::with(accepting(&[ccid]), Config::default());
        pair.client.connect(pair.now);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.server().state(), State::Closed, "{ccid}");
        assert_eq!(pair.client.state(), State::TimeWait, "{ccid}");
    }
}

/// RFC 9331, Section 4.1. The acknowledgements of all of them have ECT(0), as the Ack Ratio reacts to their
/// marks (RFC 4341, Section 6.1.1).
#[test]
fn data_of_a_scalable_law_have_ect1_and_acknowledgements_ect0() {
    for (ccid, expected) in LAWS.map(|ccid| (ccid, if ccid == Ccid::PRAGUE { Ecn::Ect1 } else { Ecn::Ect0 }))
    {
        let mut pair = Pair::connected(accepting(&[ccid]));
        for tag in 0..6 {
            pair.send(End::Client, tag);
        }
        pair.run_for(Duration::from_secs(1));
        let codepoints = |pair: &Pair, end, packet_type| -> Vec<Ecn> {
            pair.sent_by(end, packet_type).iter().map(|sent| sent.ecn).collect()
        };
        let data =
            [PacketType::Data, PacketType::DataAck].map(|it| codepoints(&pair, End::Client, it)).concat();
        assert_eq!(data, [expected; 6], "{ccid}");
        let acks = codepoints(&pair, End::Server, PacketType::Ack);
        assert!(!acks.is_empty() && acks.iter().all(|ecn| *ecn == Ecn::Ect0), "{ccid}: {acks:?}");
    }
}

#[test]
fn a_scalable_law_sends_no_ect_to_an_incapable_peer() {
    let client = accepting(&[Ccid::PRAGUE]);
    let mut pair = Pair::connected_with(client.clone(), Config { ecn: false, ..client });
    pair.send(End::Client, 1);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.received(End::Server), [1]);
    assert!(pair.sent.iter().all(|sent| sent.ecn == Ecn::NotEct));
}
