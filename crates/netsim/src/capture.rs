//! Capture files: what passed an interface, for Wireshark and its kin.
//!
//! The simulator writes no file. [`Simulator::capture_link`](crate::Simulator::capture_link) names the
//! links to watch, and [`Simulator::take_capture`](crate::Simulator::take_capture) hands out what has been
//! written since the last call: a pcapng stream that the caller appends to a file. Timestamps are simulated
//! nanoseconds; each watched end of a link is an interface of its own.

mod air;
mod pcapng;

use whimbrel_units::Instant;

use crate::{LinkId, MediumId, Packet};
use air::AirCapture;
pub(crate) use air::OnAir;
pub use pcapng::PcapngWriter;

/// The conversion of the caller's packets to bytes.
pub trait CaptureFormat<P> {
    /// Appends the packet as a raw IP packet (link type 101, `LINKTYPE_RAW`) to `out`. Bytes that are
    /// left out at the end are recorded as cut off: the original length is the packet's `size`.
    fn capture_bytes(&mut self, packet: &Packet<P>, out: &mut Vec<u8>);
}

impl<P, F: FnMut(&Packet<P>, &mut Vec<u8>)> CaptureFormat<P> for F {
    fn capture_bytes(&mut self, packet: &Packet<P>, out: &mut Vec<u8>) {
        self(packet, out);
    }
}

/// The end of a link at which packets are captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapturePoint {
    /// Before the queue: every packet offered to the link, at the time of the offer. One that is refused
    /// carries a comment with the reason.
    Ingress,
    /// At the far end: what arrives, when it arrives.
    Egress,
}

/// A capture in progress.
pub(crate) struct Capture<P> {
    format: Box<dyn CaptureFormat<P> + Send>,
    writer: PcapngWriter,
    /// The interface of each link's ingress and egress, by link.
    interfaces: Vec<[Option<u32>; 2]>,
    air: AirCapture,
    bytes: Vec<u8>,
}

impl<P> Capture<P> {
    pub(crate) fn new(format: Box<dyn CaptureFormat<P> + Send>) -> Self {
        Self {
            format,
            writer: PcapngWriter::new(),
            interfaces: Vec::new(),
            air: AirCapture::default(),
            bytes: Vec::new(),
        }
    }

    pub(crate) fn set_format(&mut self, format: Box<dyn CaptureFormat<P> + Send>) {
        self.format = format;
    }

    /// Describes an interface, once.
    pub(crate) fn watch(&mut self, link: LinkId, point: CapturePoint, link_name: &str) {
        if self.watches(link, point) {
            return;
        }
        if self.interfaces.len() <= link.index() {
            self.interfaces.resize(link.index() + 1, [None; 2]);
        }
        let suffix = if point == CapturePoint::Ingress { " in" } else { "" };
        let interface = self.writer.interface(&format!("{link_name}{suffix}"));
        self.interfaces[link.index()][point as usize] = Some(interface);
    }

    /// Describes a medium's interface, once.
    pub(crate) fn watch_medium(&mut self, medium: MediumId, name: &str) {
        self.air.watch(medium, name, &mut self.writer);
    }

    /// Writes a frame on the air; `packet` is the one in it.
    pub(crate) fn write_on_air(
        &mut self,
        now: Instant,
        medium: MediumId,
        on_air: &OnAir,
        packet: Option<&Packet<P>>,
    ) {
        let format = &mut self.format;
        let append = |out: &mut Vec<u8>| {
            if let Some(packet) = packet {
                format.capture_bytes(packet, out);
            }
        };
        self.air.write(now, medium, on_air, append, &mut self.writer);
    }

    pub(crate) fn watches(&self, link: LinkId, point: CapturePoint) -> bool {
        self.interface(link, point).is_some()
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.writer.take()
    }

    pub(crate) fn write(
        &mut self,
        now: Instant,
        link: LinkId,
        point: CapturePoint,
        packet: &Packet<P>,
        comment: Option<&str>,
    ) {
        let Some(interface) = self.interface(link, point) else { return };
        self.bytes.clear();
        self.format.capture_bytes(packet, &mut self.bytes);
        self.writer.packet(interface, now, &self.bytes, packet.size, comment);
    }

    fn interface(&self, link: LinkId, point: CapturePoint) -> Option<u32> {
        self.interfaces.get(link.index())?[point as usize]
    }
}

#[cfg(test)]
mod tests;
