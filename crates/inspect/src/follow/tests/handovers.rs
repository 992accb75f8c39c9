//! Freezes, restarts and moves.

use whimbrel_wire::option::mobility::{MobilityKey, MobilityOption, Move};
use whimbrel_wire::option::tfrc::ProbeRule;

use super::super::handover::HandoverKind::{self, *};
use super::*;

const IDENTIFIER: u64 = 77;

impl Capture {
    /// Data of the client with these options.
    fn client_data(&mut self, sequence: u64, options: &[DccpOption]) {
        let mut segment = self.segment(Client, sequence, Kind::DataAck { ack: SeqNo::new(5000) });
        segment.packet.options = options.iter().cloned().collect();
        segment.packet.payload = Payload::from(Bytes::from_static(&[7; 100]));
        assert_eq!(self.pass(&segment), []);
        self.wait(20);
    }

    fn kinds(&self) -> Vec<(Side, HandoverKind)> {
        self.only().handovers.iter().map(|step| (step.by, step.kind)).collect()
    }
}

#[test]
fn a_freeze_and_its_end_are_reported_once_despite_repetitions() {
    let mut capture = Capture::new();
    capture.open();
    for sequence in [102, 103, 104] {
        capture.send_with(Client, sequence, ack(5000), &[DccpOption::Freeze]);
    }
    // Data packets carry no acknowledgement, and so no freeze option.
    capture.data(Client, 105, Kind::Data);
    capture.wait(960);
    for sequence in [106, 107] {
        capture.send_with(Client, sequence, ack(5000), &[DccpOption::Unfreeze]);
    }
    capture.send(Client, 108, ack(5000));
    assert_eq!(capture.kinds(), [(Client, Freeze), (Client, Unfreeze)]);
    let steps = capture.only().handovers;
    assert_eq!((steps[0].packet, steps[1].packet), (4, 8));
    // 40 ms of the handshake, and the freeze.
    assert_eq!((steps[0].at_s, steps[1].at_s), (0.04, 1.0));
}

#[test]
fn a_freeze_that_is_not_repeated_is_over() {
    let mut capture = Capture::new();
    capture.open();
    capture.send_with(Server, 5001, ack(101), &[DccpOption::Freeze]);
    capture.send(Server, 5002, ack(101));
    assert_eq!(capture.kinds(), [(Server, Freeze), (Server, FreezeOver)]);
}

#[test]
fn a_restart_is_reported_step_by_step() {
    let mut capture = Capture::new();
    capture.open();
    capture.client_data(102, &[]);
    capture.client_data(103, &[tfrc::restoring(ProbeRule::Loss)]);
    capture.client_data(104, &[tfrc::restoring(ProbeRule::Loss)]);
    capture.send_with(Server, 5001, ack(104), &[tfrc::unfrozen()]);
    capture.send_with(Server, 5002, ack(104), &[tfrc::unfrozen()]);
    capture.client_data(105, &[tfrc::probing(ProbeRule::ReceiveRate { rtt_micros: 0 })]);
    capture.client_data(106, &[tfrc::probing(ProbeRule::Settle { rtt_micros: 40_000 })]);
    capture.client_data(107, &[]);
    assert_eq!(
        capture.kinds(),
        [(Client, Restoring), (Server, Unfrozen), (Client, Probing), (Client, Settling), (Client, Normal)]
    );
}

/// A client of a connection with an identifier, and its packet from another address.
fn moved(identifier: u64) -> (Capture, Vec<AnomalyKind>) {
    let mut capture = Capture::new();
    capture.send(Client, 100, REQUEST);
    let key = MobilityOption::Key(MobilityKey { identifier: IDENTIFIER, public: [9; 32] });
    let response = Kind::Response { ack: SeqNo::new(100), service_code: ServiceCode(7) };
    capture.send_with(Server, 5000, response, &[key.into()]);
    capture.send(Client, 101, ack(5000));
    let mut segment = capture.segment(Client, 102, ack(5000));
    segment.source = IpAddr::from([198, 51, 100, 3]);
    // The interface of another network, in the same capture.
    segment.interface = 1;
    let option = MobilityOption::Move(Move { identifier, echo: None, tag: 0 });
    segment.packet.options = [DccpOption::from(option)].into_iter().collect();
    let anomalies = capture.pass(&segment);
    (capture, anomalies)
}

#[test]
fn a_client_that_moves_keeps_its_connection() {
    let (mut capture, anomalies) = moved(IDENTIFIER);
    assert_eq!(anomalies, []);
    let mut segment = capture.segment(Server, 5001, ack(102));
    segment.destination = IpAddr::from([198, 51, 100, 3]);
    segment.packet.options = [DccpOption::from(MobilityOption::Moved(SeqNo::new(102)))].into_iter().collect();
    assert_eq!(capture.pass(&segment), []);
    let report = capture.only();
    assert_eq!(report.client.address, IpAddr::from([198, 51, 100, 3]));
    assert_eq!(report.halves.map(|half| half.seen.packets), [3, 2]);
    let steps: Vec<_> = report.handovers.iter().map(|step| (step.by, step.kind, step.client)).collect();
    assert_eq!(steps, [(Client, Move, Some(report.client)), (Server, Moved, None)]);
}

#[test]
fn a_packet_that_names_another_connection_does_not_join_it() {
    let (capture, _) = moved(IDENTIFIER + 1);
    assert_eq!(crate::report::connections(&capture.follower).len(), 2);
}

/// Packets of a client with a Move, from `host` of 198.51.100.0/24, or from its previous address.
fn announce(capture: &mut Capture, sequence: u64, host: Option<u8>) -> Vec<AnomalyKind> {
    let mut segment = capture.segment(Client, sequence, ack(5000));
    if let Some(host) = host {
        segment.source = IpAddr::from([198, 51, 100, host]);
    }
    let option = MobilityOption::Move(Move { identifier: IDENTIFIER, echo: None, tag: 0 });
    segment.packet.options = [DccpOption::from(option)].into_iter().collect();
    capture.pass(&segment)
}

/// The path may have changed without a change of address, as after a change of routes.
#[test]
fn a_move_from_the_previous_address_is_no_address_change() {
    let (mut capture, _) = moved(IDENTIFIER);
    capture.ports = [40_000, 5004];
    let mut fresh = Capture::new();
    fresh.open();
    for sequence in [102, 103] {
        assert_eq!(announce(&mut fresh, sequence, None), []);
    }
    let report = fresh.only();
    let steps: Vec<_> = report.handovers.iter().map(|step| (step.kind, step.client)).collect();
    assert_eq!(steps, [(Move, None)]);
    assert_eq!(report.client.address, IpAddr::from([192, 0, 2, 1]));
    // An address that the server has not confirmed may be forged.
    assert_eq!(capture.only().client.address, IpAddr::from([192, 0, 2, 1]));
    assert_eq!(announce(&mut capture, 103, Some(3)), []);
    let places = capture.only().handovers.iter().filter(|step| step.client.is_some()).count();
    assert_eq!(places, 1, "the same address is reported once");
}

#[test]
fn a_move_with_a_wrong_checksum_is_ignored() {
    let (mut capture, _) = moved(IDENTIFIER);
    let mut segment = capture.segment(Client, 103, ack(5000));
    segment.source = IpAddr::from([198, 51, 100, 9]);
    segment.checksum = Checksum::Bad;
    let option = MobilityOption::Move(Move { identifier: IDENTIFIER, echo: None, tag: 0 });
    segment.packet.options = [DccpOption::from(option)].into_iter().collect();
    capture.pass(&segment);
    let report = &crate::report::connections(&capture.follower)[0];
    assert!(
        report.handovers.iter().all(|step| step.client.is_none_or(|place| place.address != segment.source))
    );
}

#[test]
fn a_returning_client_is_reported_and_a_reordered_packet_is_not() {
    let (mut capture, _) = moved(IDENTIFIER);
    announce(&mut capture, 104, None);
    announce(&mut capture, 103, Some(3));
    let places: Vec<_> = capture.only().handovers.iter().filter_map(|step| step.client).collect();
    let addresses: Vec<IpAddr> = places.iter().map(|place| place.address).collect();
    assert_eq!(addresses, [IpAddr::from([198, 51, 100, 3]), IpAddr::from([192, 0, 2, 1])]);
}
