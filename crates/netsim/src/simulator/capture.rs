//! Watching links while they carry packets.

use core::any::Any;

use super::Simulator;
use crate::capture::{Capture, CaptureFormat, CapturePoint, OnAir};
use crate::medium::{QosMedium, WifiMedium};
use crate::network::Verdict;
use crate::packets::PacketSlot;
use crate::queue::DropReason;
use crate::{Agent, LinkId, MediumId};

impl<A: Agent> Simulator<A> {
    /// Prepares a capture: how packets look as bytes. A second call replaces the format.
    pub fn set_capture_format(&mut self, format: impl CaptureFormat<A::Payload> + Send + 'static) {
        let format = Box::new(format);
        match &mut self.capture {
            Some(capture) => capture.set_format(format),
            None => self.capture = Some(Box::new(Capture::new(format))),
        }
    }

    /// Watches one end of a link from now on. The interface is named after the link, with ` in` for
    /// [`CapturePoint::Ingress`].
    ///
    /// # Panics
    /// Without [`set_capture_format`](Self::set_capture_format).
    pub fn capture_link(&mut self, link: LinkId, point: CapturePoint) {
        let capture = self.capture.as_mut().expect("a capture needs a format");
        capture.watch(link, point, &self.network.link_ends[link.index()].name);
    }

    /// Captures the frames that the stations of an 802.11 medium transmit from now on, with radiotap headers,
    /// at the times at which their transmissions begin. Data frames have the content that
    /// [`set_capture_format`](Self::set_capture_format) sets. Other media have no frames.
    ///
    /// # Panics
    /// Without [`set_capture_format`](Self::set_capture_format).
    pub fn capture_medium(&mut self, medium: MediumId, name: &str) {
        let capture = self.capture.as_mut().expect("a capture needs a format");
        capture.watch_medium(medium, name);
        let medium: &mut dyn Any = &mut *self.network.media[medium.index()].medium;
        if let Some(wifi) = medium.downcast_mut::<WifiMedium>() {
            wifi.capture();
        } else if let Some(qos) = medium.downcast_mut::<QosMedium>() {
            qos.capture();
        }
    }

    pub(super) fn capture_on_air(&mut self, medium: MediumId, on_air: &OnAir) {
        let Some(capture) = &mut self.capture else { return };
        let now = self.timeline.now;
        match on_air.slot {
            Some(slot) => {
                let packet = self.packets.lend(slot);
                capture.write_on_air(now, medium, on_air, Some(&packet));
                self.packets.give_back(slot, packet);
            }
            None => capture.write_on_air(now, medium, on_air, None),
        }
    }

    /// The pcapng bytes written since the last call. The first ones begin the file.
    pub fn take_capture(&mut self) -> Vec<u8> {
        self.capture.as_mut().map_or_else(Vec::new, |capture| capture.take())
    }

    #[cold]
    pub(super) fn capture_ingress(&mut self, link: LinkId, slot: PacketSlot, verdict: Verdict) {
        let comment = match verdict {
            Verdict::Queued | Verdict::QueuedFirst | Verdict::Managed => None,
            Verdict::Overflow => Some("dropped: queue overflow"),
            Verdict::Down => Some("dropped: link down"),
        };
        self.capture_packet(link, CapturePoint::Ingress, slot, comment);
    }

    /// Like [`capture_ingress`](Self::capture_ingress), of a packet that the discipline has queued or
    /// dropped.
    #[cold]
    pub(super) fn capture_managed(&mut self, link: LinkId, slot: PacketSlot, dropped: Option<DropReason>) {
        let comment = dropped.map(|reason| match reason {
            DropReason::Overflow => "dropped: queue overflow",
            DropReason::Early => "dropped: active queue management",
        });
        self.capture_packet(link, CapturePoint::Ingress, slot, comment);
    }

    #[cold]
    pub(super) fn capture_egress(&mut self, link: LinkId, slot: PacketSlot) {
        let comment = self.packets.header(slot).damaged.then_some("damaged on the way");
        self.capture_packet(link, CapturePoint::Egress, slot, comment);
    }

    fn capture_packet(&mut self, link: LinkId, point: CapturePoint, slot: PacketSlot, comment: Option<&str>) {
        let Some(capture) = &mut self.capture else { return };
        if capture.watches(link, point) {
            let packet = self.packets.lend(slot);
            capture.write(self.timeline.now, link, point, &packet, comment);
            self.packets.give_back(slot, packet);
        }
    }
}
