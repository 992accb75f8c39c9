//! Any bytes as a capture file: reading, following and reporting never panic, and the reported counts add up.

use whimbrel_inspect::capture::CaptureReader;
use whimbrel_inspect::datagrams::Datagrams;
use whimbrel_inspect::{FollowConfig, inspect};

const MAX_CONNECTIONS: usize = 8;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    check_datagrams(data);
    let config = FollowConfig { max_connections: MAX_CONNECTIONS, ..FollowConfig::default() };
    let Ok(report) = inspect(data, config, &[9]) else { return };
    assert!(report.connections.len() <= MAX_CONNECTIONS);
    let mut packets = report.capture.beyond_limit;
    for connection in &report.connections {
        for half in &connection.halves {
            let seen = &half.seen;
            assert_eq!(seen.types.values().sum::<u64>(), seen.packets);
            assert_eq!(seen.ecn.values().sum::<u64>(), seen.packets);
            assert_eq!(half.intervals.iter().map(|row| row.datagrams).sum::<u64>(), seen.datagrams);
            assert!(half.intervals.iter().all(|row| row.send_rate_bps.is_finite()));
            assert!(half.reported.loss_event_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)));
            packets += seen.packets + half.packets_elsewhere;
        }
    }
    assert_eq!(packets, report.capture.dccp_packets);
}

/// Each flow has datagrams, none empty, in the order of their times.
fn check_datagrams(data: &[u8]) {
    let Ok(mut reader) = CaptureReader::new(data) else { return };
    let mut datagrams = Datagrams::new(&[9]);
    while let Ok(Some(record)) = reader.next_record() {
        datagrams.on_record(&record);
    }
    for (_, seen) in datagrams.into_flows() {
        assert!(!seen.is_empty() && seen.iter().all(|datagram| datagram.size > 0));
        assert!(seen.windows(2).all(|pair| pair[0].offset <= pair[1].offset));
    }
}
