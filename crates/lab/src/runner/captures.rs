//! Capture files of a run's links.

use whimbrel_netsim::capture::CapturePoint;

use super::Run;
use crate::capture::IpCapture;

impl Run<'_> {
    /// Captures, from now on, the packets that arrive over every link whose name `wanted` accepts.
    pub fn capture(&mut self, wanted: impl Fn(&str) -> bool) {
        self.simulator.set_capture_format(IpCapture::of(self.plan));
        for (link, id) in self.plan.links.iter().zip(&self.links) {
            if wanted(&link.name) {
                self.simulator.capture_link(*id, CapturePoint::Egress);
            }
        }
    }

    /// The pcapng bytes written since the last call. The first ones begin the file.
    pub fn take_capture(&mut self) -> Vec<u8> {
        self.simulator.take_capture()
    }
}
