//! Loss times of a captured stream: the numbered stream with the most packets, DCCP, RTP or TCP.
//!
//! The capture must have been taken behind the losses, preferably at the receiver. A missing number is a lost
//! packet, as all packets of a DCCP direction and of an RTP stream are numbered; a late packet is not
//! missing. TCP shows a loss by sending the data again. Missing packets are placed evenly between their
//! neighbours, and each represents its share of the time between them: a stream with the same spacing would
//! lose the same packets, a faster one more of them.

use std::io::Read;

use whimbrel_units::{Duration, Instant};

use crate::FollowConfig;
use crate::capture::{CaptureError, CaptureReader};
use crate::loss_fit::LossRuns;
use crate::streams;

/// The losses of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LossRecording {
    /// Description of the stream: `RTP 192.0.2.1:4000 > 192.0.2.2:5004`.
    pub stream: String,
    /// Number of streams in the capture.
    pub streams: usize,
    /// Number of captured packets of the stream.
    pub passed: u64,
    /// Number of missing packets of the stream.
    pub lost: u64,
    /// Time from its first packet to its last.
    pub length: Duration,
    /// Start and end of the losses, relative to the first packet; ascending and disjoint.
    pub spans: Vec<(Duration, Duration)>,
    /// The stream's packets in the order of their numbers: passed or missing.
    pub runs: LossRuns,
}

impl LossRecording {
    /// The losses of a stream whose packets were recorded otherwise: unwrapped numbers and times. `None` for
    /// fewer than two.
    pub fn of_packets(stream: String, packets: Vec<(u64, Instant)>) -> Option<Self> {
        (packets.len() > 1).then(|| recording(stream, 1, packets))
    }
}

/// A stream's packets in the order of the capture: numbers, unwrapped, and times.
type Packets = Vec<(u64, Instant)>;

/// Extracts the losses of a capture's largest stream. With `port`, streams to other ports do not count: the
/// port of DCCP, and UDP's for RTP and DCCP inside UDP.
///
/// Returns `None` if there is no stream of at least two packets.
///
/// # Errors
/// Returns an error if the file is not a capture, or is truncated.
pub fn losses<R: Read>(stream: R, port: Option<u16>) -> Result<Option<LossRecording>, CaptureError> {
    losses_of(CaptureReader::new(stream)?, port)
}

/// The same of a capture whose header has been read.
///
/// # Errors
/// Returns an error if the file is truncated, or has too many packets.
pub fn losses_of<R: Read>(
    mut reader: CaptureReader<R>,
    port: Option<u16>,
) -> Result<Option<LossRecording>, CaptureError> {
    let found = streams::read(&mut reader, FollowConfig::default(), &[], |_| true);
    if let Some(error) = found.error {
        return Err(error);
    }
    let mut streams: Vec<(String, Packets)> = Vec::new();
    for stream in found.streams {
        let to = &stream.destination;
        if port.is_some_and(|port| to.port != port && to.udp_port != Some(port)) {
            continue;
        }
        if let Some(packets) = stream.numbered().filter(|packets| packets.len() > 1) {
            streams.push((stream.to_string(), packets));
        }
    }
    let number = streams.len();
    // The first of equal ones, so that the result is deterministic.
    let largest = streams.into_iter().rev().max_by_key(|(_, packets)| packets.len());
    Ok(largest.map(|(stream, packets)| recording(stream, number, packets)))
}

fn recording(stream: String, streams: usize, mut packets: Packets) -> LossRecording {
    let begin = packets.iter().map(|(_, at)| *at).min().unwrap_or_default();
    let end = packets.iter().map(|(_, at)| *at).max().unwrap_or_default();
    packets.sort_by_key(|(sequence, at)| (*sequence, *at));
    packets.dedup_by_key(|(sequence, _)| *sequence);
    let passed = packets.len() as u64;
    let length = end.saturating_since(begin);
    let numbers = packets.last().map_or(0, |last| last.0 - packets[0].0 + 1);
    let mut spans: Vec<(Duration, Duration)> = Vec::new();
    let mut latest = Duration::ZERO;
    let mut before = packets[0].0;
    let mut runs = LossRuns::new();
    for (sequence, at) in packets {
        let at = at.saturating_since(begin);
        let missing = (sequence - before).saturating_sub(1);
        runs.push(true, missing);
        runs.push(false, 1);
        if missing > 0 {
            // Neighbours may have been captured at the same time, or out of order: then the mean spacing is
            // used.
            let gap = at.saturating_sub(latest);
            let half = gap.mul_f64(0.5 / (missing as f64 + 1.0));
            let (from, to) = if half.is_zero() {
                (latest, latest + length.mul_f64(missing as f64 / numbers as f64))
            } else {
                (latest + half, at - half)
            };
            match spans.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                _ if to > from => spans.push((from, to)),
                _ => {}
            }
        }
        (before, latest) = (sequence, latest.max(at));
    }
    LossRecording { stream, streams, passed, lost: numbers - passed, length, spans, runs }
}

#[cfg(test)]
mod tests;
