//! Any bytes as a capture file: reading, following and reporting never panic, and the reported counts add up.

use whimbrel_inspect::capture::CaptureReader;
use whimbrel_inspect::streams::{self, StreamKind};
use whimbrel_inspect::{FollowConfig, Viewpoint, inspect};

const MAX_CONNECTIONS: usize = 8;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    check_streams(data);
    let config = FollowConfig { max_connections: MAX_CONNECTIONS, ..FollowConfig::default() };
    let Ok(report) = inspect(data, config, &[9]) else { return };
    assert!(report.connections.len() <= MAX_CONNECTIONS);
    let summary = &report.capture;
    let mut packets = summary.beyond_limit;
    assert!(summary.frames >= summary.cut_frames);
    for connection in &report.connections {
        for half in &connection.halves {
            let seen = &half.seen;
            assert_eq!(seen.types.values().sum::<u64>(), seen.packets);
            assert_eq!(seen.ecn.values().sum::<u64>(), seen.packets);
            assert_eq!(half.intervals.iter().map(|row| row.datagrams).sum::<u64>(), seen.datagrams);
            assert!(half.intervals.iter().all(|row| row.send_rate_bps.is_finite()));
            assert!(half.reported.loss_event_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)));
            packets += seen.packets;
        }
    }
    let mut is_rtp = false;
    for flow in &report.flows {
        assert_eq!(flow.intervals.iter().map(|row| row.packets).sum::<u64>(), flow.packets);
        assert!(flow.intervals.iter().all(|row| row.rate_bps.is_finite()));
        assert!(flow.gaps.iter().all(|gap| gap.to_s >= gap.from_s && !gap.sentence().is_empty()));
        if let Some(rtp) = &flow.rtp {
            assert!(rtp.whole_frames <= rtp.frames && rtp.frames <= flow.packets);
        }
        // A flow with RTP and other datagrams is reported for both.
        is_rtp |= flow.rtp.is_some();
        packets += flow.packets;
    }
    let read = summary.dccp_packets + summary.udp_packets + summary.tcp_packets;
    assert!(packets == read || is_rtp && packets > read, "{packets} {read}");
}

/// Each stream has packets in the order of their times, and the numbers of packets not lost do not repeat.
fn check_streams(data: &[u8]) {
    for viewpoint in [Viewpoint::Receiver, Viewpoint::Sender] {
        let Ok(mut reader) = CaptureReader::new(data) else { return };
        let config = FollowConfig { viewpoint, ..FollowConfig::default() };
        for stream in streams::read(&mut reader, config, &[9], |_| true).streams {
            assert!(stream.with_data() > 0 && stream.packets.is_sorted_by_key(|packet| packet.at));
            // Other datagrams may be taken for a source that begins anew.
            if matches!(stream.kind, StreamKind::Rtp(_)) {
                continue;
            }
            let mut numbers: Vec<u64> =
                stream.numbered().unwrap_or_default().iter().map(|packet| packet.0).collect();
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{stream}");
        }
    }
}
