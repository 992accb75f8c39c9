//! From captured frames to a report.

use whimbrel_units::Instant;

use crate::capture::{CaptureError, CaptureReader, Record};
use crate::dissect::{Dissected, Dissector, Malformed, Segment};
use crate::follow::{FollowConfig, Followed, Follower};
use crate::link::link_name;
use crate::names::seconds;
use crate::report::{self, CaptureSummary, InterfaceReport, MalformedReport, Report};

/// Maximum number of malformed frames and fragments listed; further ones are counted.
const MAX_NAMED: usize = 20;
/// Maximum number of unknown link types counted separately.
const MAX_LINK_TYPES: usize = 64;
/// Maximum number of interfaces counted separately.
const MAX_INTERFACES: usize = 1024;
/// See [`Report::version`].
const VERSION: u32 = 2;

/// Dissects the frames of a capture and tracks the connections in them.
#[derive(Clone, Debug)]
pub struct Inspector {
    dissector: Dissector,
    follower: Follower,
    summary: CaptureSummary,
}

/// Result for a frame.
#[derive(Clone, Debug)]
pub enum Seen {
    /// DCCP packets and the results of tracking them.
    Packets(Vec<(Segment, Followed)>),
    /// A malformed DCCP packet.
    Malformed(Malformed),
    /// Anything else.
    Other,
}

impl Inspector {
    /// An inspector; `udp_ports` carry DCCP in addition to 6511.
    pub fn new(config: FollowConfig, udp_ports: &[u16]) -> Self {
        Self {
            dissector: Dissector::new(udp_ports),
            follower: Follower::new(config),
            summary: CaptureSummary::default(),
        }
    }

    /// Processes a captured frame.
    pub fn on_record(&mut self, record: &Record<'_>) -> Seen {
        self.summary.frames += 1;
        self.follower.on_time(record.at);
        self.count_interface(record);
        match self.dissector.dissect(record) {
            Dissected::Dccp(segments) => {
                self.summary.dccp_packets += segments.len() as u64;
                let follow = |segment: Segment| {
                    let followed = self.follower.on_segment(&segment);
                    (segment, followed)
                };
                Seen::Packets(segments.into_iter().map(follow).collect())
            }
            Dissected::Malformed(malformed) => {
                self.summary.malformed += 1;
                if self.summary.malformed_first.len() < MAX_NAMED {
                    self.summary.malformed_first.push(MalformedReport {
                        packet: malformed.number,
                        record_offset: malformed.record_offset,
                        layer: malformed.layer,
                        offset: malformed.offset,
                        reason: malformed.reason.clone(),
                    });
                }
                Seen::Malformed(malformed)
            }
            Dissected::Fragment(_) => {
                self.summary.fragments += 1;
                if self.summary.fragments_first.len() < MAX_NAMED {
                    self.summary.fragments_first.push(record.number);
                }
                Seen::Other
            }
            Dissected::UnknownLink(link_type) => {
                let known = &mut self.summary.unknown_links;
                if known.len() < MAX_LINK_TYPES || known.contains_key(&link_type) {
                    *known.entry(link_type).or_default() += 1;
                }
                Seen::Other
            }
            Dissected::Other => Seen::Other,
        }
    }

    fn count_interface(&mut self, record: &Record<'_>) {
        let known = &mut self.summary.interfaces;
        if known.len() >= MAX_INTERFACES && !known.contains_key(&record.interface) {
            return;
        }
        let interface = known.entry(record.interface).or_insert_with(|| InterfaceReport {
            name: record.interface_name.map(str::to_owned),
            link: link_name(record.link_type),
            frames: 0,
        });
        interface.frames += 1;
    }

    /// Records an error that ends the reading of the file.
    pub fn on_error(&mut self, error: &CaptureError) {
        self.summary.error = Some(error.to_string());
    }

    /// The report on the frames so far.
    pub fn report(&self) -> Report {
        let (zero, end) = self.follower.span().unwrap_or_default();
        Report {
            version: VERSION,
            capture: CaptureSummary {
                start_s: seconds(zero.saturating_since(Instant::ZERO)),
                duration_s: seconds(end.saturating_since(zero)),
                beyond_limit: self.follower.refused(),
                ..self.summary.clone()
            },
            connections: report::connections(&self.follower),
        }
    }
}

/// Reads a capture from a buffered stream and reports on it. If the file cannot be read to its end, the
/// report covers the preceding part and contains the error.
///
/// # Errors
/// Returns an error if the stream is not a capture.
pub fn inspect(
    stream: impl std::io::Read,
    config: FollowConfig,
    udp_ports: &[u16],
) -> Result<Report, CaptureError> {
    let mut reader = CaptureReader::new(stream)?;
    let mut inspector = Inspector::new(config, udp_ports);
    loop {
        match reader.next_record() {
            Ok(Some(record)) => drop(inspector.on_record(&record)),
            Ok(None) => break,
            Err(error) => {
                inspector.on_error(&error);
                break;
            }
        }
    }
    Ok(inspector.report())
}
