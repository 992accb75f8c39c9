//! Capture files of a run's links.

use whimbrel_netsim::capture::CapturePoint;

use super::Run;
use crate::capture::IpCapture;

impl Run<'_> {
    /// Captures, from now on, the packets that arrive over every link whose name `wanted` accepts, and the
    /// frames on every 802.11 medium whose name it accepts.
    pub fn capture(&mut self, wanted: impl Fn(&str) -> bool) {
        self.simulator.set_capture_format(IpCapture::of(self.plan));
        for (link, id) in self.plan.links.iter().zip(&self.parts.links) {
            if wanted(&link.name) {
                self.simulator.capture_link(*id, CapturePoint::Egress);
            }
        }
        for (wifi, stations) in self.plan.wifi.iter().zip(&self.parts.stations) {
            if let Some(first) = stations.first().filter(|_| wanted(&wifi.name)) {
                self.simulator.capture_medium(first.medium(), &wifi.name);
            }
        }
    }

    /// The pcapng bytes written since the last call. The first ones begin the file.
    pub fn take_capture(&mut self) -> Vec<u8> {
        self.simulator.take_capture()
    }
}
