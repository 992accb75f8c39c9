//! The frames of a flow whose datagrams are repaired, or counted without repair, and their datagrams.

use bytes::Bytes;
use whimbrel_proto::Datagram;
use whimbrel_proto::repair::{Mark, REPAIR_OVERHEAD, RepairCounts, Role, SOURCE_OVERHEAD};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use crate::metrics::{FrameSummary, Meter};
use crate::transport::repair::{Repair, RepairKind, Viewer};
use crate::transport::{FlowSetup, FrameParts};

/// Bytes of the headers of the layer in a datagram that is sent for the first time.
const OVERHEAD: u32 = SOURCE_OVERHEAD as u32;
/// The same at most: in a coded packet.
pub(in crate::transport) const MOST_OVERHEAD: u32 = REPAIR_OVERHEAD as u32;
/// The number and the capture time of a datagram, which its receiver reads.
pub(in crate::transport) const LEAST: u32 = 16;
/// The first byte of a datagram that the layer sends for the first time.
const ORIGINAL: u8 = 1;
/// Bytes of the layer before the data in it.
const BEFORE: usize = 9;

/// The headers of the layer in a datagram that is sent for the first time.
pub(in crate::transport) fn overhead(repair: &Repair) -> u32 {
    if repair.kind == RepairKind::None { 0 } else { OVERHEAD }
}

/// A datagram that its packet does not show.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::transport) struct Hidden {
    /// The number of the datagram at its source.
    pub(in crate::transport) tag: u64,
    /// Its size in bytes; 0 for what is not a first transmission of data.
    pub(in crate::transport) length: u32,
    /// When it was captured, if the flow has frames.
    captured: Instant,
}

impl Hidden {
    /// The datagram in a payload that is handed to the connection, or to DTLS above it.
    pub(super) fn of(payload: &Payload, repairs: bool) -> Self {
        let bytes = match payload {
            Payload::Opaque { length, tag } => {
                return Self { tag: *tag, length: *length, captured: Instant::ZERO };
            }
            Payload::Bytes(bytes) if !repairs => bytes.get(..),
            Payload::Bytes(bytes) => {
                let is_original = bytes.first() == Some(&ORIGINAL);
                let end = bytes.len().checked_sub(OVERHEAD as usize - BEFORE).filter(|_| is_original);
                end.and_then(|end| bytes.get(BEFORE..end))
            }
        };
        bytes.and_then(Self::read).unwrap_or_default()
    }

    /// The datagram that begins with its number and its capture time.
    fn read(data: &[u8]) -> Option<Self> {
        let (tag, rest) = data.split_first_chunk()?;
        let captured = Instant::from_nanos(u64::from_be_bytes(*rest.first_chunk()?));
        Some(Self { tag: u64::from_be_bytes(*tag), length: data.len() as u32, captured })
    }
}

/// The frames of a flow at one end.
#[derive(Debug)]
pub(in crate::transport) struct FramedFlow {
    parts: FrameParts,
    viewer: Viewer,
    sent: u64,
}

impl FramedFlow {
    pub(super) fn new(flow: &FlowSetup<'_>, repair: &Repair) -> Self {
        Self { parts: flow.frame_parts(), viewer: Viewer::new(flow, repair), sent: 0 }
    }

    /// The datagram in place of the source's placeholder, captured now. Its data has the capture time by the
    /// simulation's clock, which the viewer reads, and its mark the capture time by the end's clock.
    pub(super) fn datagram(&self, [now, local]: [Instant; 2], datagram: Datagram) -> Datagram {
        let Payload::Opaque { length, tag } = datagram.payload else { return datagram };
        let part = self.parts.part(tag);
        let mut data = tag.to_be_bytes().to_vec();
        data.extend_from_slice(&now.as_nanos().to_be_bytes());
        // A shorter datagram would not be known at its receiver, and its frame never be whole.
        data.resize(length.max(LEAST) as usize, 0);
        let mark = Mark {
            role: Role::Disposable,
            captured: Some(local),
            ..Mark::part(part.index as usize, part.count as usize)
        };
        Datagram { payload: Bytes::from(data).into(), ..datagram }.with_mark(mark)
    }

    /// The last datagram of a frame was handed over.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.sent += u64::from(self.viewer.counts(now));
    }

    /// A datagram arrived for the first time.
    pub(in crate::transport) fn on_arrival(&mut self, now: Instant, hidden: Hidden) {
        self.viewer.on_original(now, hidden.captured, hidden.tag);
    }

    /// A datagram was delivered.
    pub(in crate::transport) fn on_delivery(&mut self, now: Instant, payload: &Payload, meter: &mut Meter) {
        let Some(Hidden { tag, length, captured }) = Hidden::read(&payload.to_bytes()) else { return };
        self.viewer.count(now, tag, length, meter);
        self.viewer.show(now, captured, self.parts.part(tag));
    }

    /// The frames, and the cost of repair.
    pub(super) fn summary(&self, repair: &RepairCounts) -> FrameSummary {
        let sent = &repair.sent;
        let headers = sent.source * u64::from(OVERHEAD);
        FrameSummary {
            sent: self.sent,
            repair_bytes: sent.repair_bytes + headers,
            source_bytes: sent.source_bytes - headers,
            ..self.viewer.summary()
        }
    }
}
