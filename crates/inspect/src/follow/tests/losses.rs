//! Losses, holes and coverage, as far as a capture shows them.

use super::*;

/// Data of the client without acknowledgements, as in a capture of one direction.
fn one_direction() -> Capture {
    let mut capture = Capture::new();
    for sequence in [200, 201, 203, 204] {
        capture.data(Client, sequence, Kind::Data);
        capture.wait(10);
    }
    capture
}

#[test]
fn losses_are_unknown_without_ack_vectors() {
    let report = one_direction().only();
    let [client, server] = &report.halves;
    assert_eq!((client.seen.holes, client.reported.lost), (Some(1), None));
    assert_eq!((client.intervals[0].holes, client.intervals[0].lost), (Some(1), None));
    assert_eq!(client.intervals[0].marked, None);
    // No packet of the server was captured.
    assert_eq!((server.seen.holes, server.reported.lost), (None, None));
    // Acknowledgements without Ack Vectors, and Ack Vectors without the packets they cover.
    let mut capture = one_direction();
    capture.send(Server, 5000, ack(204));
    assert_eq!(capture.only().halves[0].reported.lost, None);
    let mut capture = Capture::new();
    let mut vector = AckVectorBuilder::new();
    vector.push(AckState::NotReceived, 2);
    capture.send_with(Server, 5000, ack(204), &vector.into_options(false).collect::<Vec<_>>());
    let client = &capture.only().halves[0];
    assert_eq!((client.seen.holes, client.reported.lost), (None, None));
    assert_eq!(client.intervals.iter().filter_map(|row| row.lost).count(), 0);
}

#[test]
fn an_interval_without_an_ack_vector_has_no_number_of_losses() {
    let mut capture = one_direction();
    capture.send_with(Server, 5000, ack(204), &{
        let mut vector = AckVectorBuilder::new();
        vector.push(AckState::Received, 2);
        vector.push(AckState::NotReceived, 1);
        vector.into_options(false).collect::<Vec<_>>()
    });
    capture.wait(1000);
    capture.data(Client, 205, Kind::Data);
    let client = &capture.only().halves[0];
    assert_eq!(client.reported.lost, Some(1));
    let lost: Vec<Option<i64>> = client.intervals.iter().map(|row| row.lost).collect();
    assert_eq!(lost, [Some(1), None]);
}

#[test]
fn packets_are_counted_by_their_checksum_coverage() {
    let mut capture = one_direction();
    let mut segment = capture.segment(Client, 205, Kind::Data);
    segment.packet.checksum_coverage = ChecksumCoverage::from_field(3);
    capture.pass(&segment);
    let coverage = capture.only().halves[0].seen.checksum_coverage.clone();
    assert_eq!(coverage.into_iter().collect::<Vec<_>>(), [(0, 4), (3, 1)]);
}
