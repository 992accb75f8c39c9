//! The sender of XCP.

use whimbrel_units::{DataRate, Duration};

use crate::explicit_rate::FlowHeader;
use crate::window::{Acknowledgement, CongestionSignal, NewReno, Window, WindowLaw};

/// The rate that the sender requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Demand {
    /// The rate of the application or of the local interface (draft-falk-xcp-spec-03, Section 4.1.1; Katabi
    /// 2002, Section 3.3). The change to it is spread over the packets of a round-trip time.
    Rate(DataRate),
    /// Each packet requests an unbounded change, as in ns-2.
    Unbounded,
}

/// Reaction to a loss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossResponse {
    /// A bottleneck without XCP is assumed: TCP's congestion control replaces XCP until [`XcpSender::resume`]
    /// (draft-falk-xcp-spec-03, Section 4.1.3.2).
    FallBack,
    /// The window is halved, and XCP continues (ns-2).
    Halve,
}

/// A window-based XCP sender. The window is in bytes, and at least one segment.
#[derive(Clone, Debug)]
pub struct XcpSender {
    segment_size: f64,
    /// `cwnd` in bytes.
    cwnd: f64,
    /// Smoothed round-trip time.
    rtt: Option<Duration>,
    demand: Demand,
    loss_response: LossResponse,
    /// TCP's congestion control after a loss, in segments.
    fallback: Option<(NewReno, Window)>,
}

impl XcpSender {
    /// Weight p of the actual rate when an unused window ages (draft-falk-xcp-spec-03, Section 4.1.3.1).
    pub const AGING: f64 = 0.5;

    /// A sender with a window of `segments` of `segment_size` bytes.
    pub fn new(segment_size: u32, segments: f64, demand: Demand, loss_response: LossResponse) -> Self {
        let segment_size = f64::from(segment_size.max(1));
        let cwnd = segments.max(1.0) * segment_size;
        Self { segment_size, cwnd, rtt: None, demand, loss_response, fallback: None }
    }

    /// `cwnd` in bytes.
    pub fn window(&self) -> f64 {
        self.fallback.as_ref().map_or(self.cwnd, |(_, window)| window.cwnd * self.segment_size)
    }

    /// A window per round-trip time; zero without a round-trip time.
    pub fn rate(&self) -> DataRate {
        match self.rtt {
            Some(rtt) if !rtt.is_zero() => DataRate::from_bytes_per_second(self.window() / rtt.as_secs_f64()),
            _ => DataRate::ZERO,
        }
    }

    /// `true` after a loss to which the sender responds as TCP.
    pub fn has_fallen_back(&self) -> bool {
        self.fallback.is_some()
    }

    /// Sets the smoothed round-trip time.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// The header of the next data packet. The request per packet is (desired - throughput) / (throughput RTT
    /// / MSS): the divisor is the number of packets in a round-trip time. Without a round-trip time the
    /// packet requests nothing.
    pub fn header(&self) -> FlowHeader {
        let rate = self.rate();
        let allocation = match self.demand {
            _ if self.rtt.is_none() => 0.0,
            Demand::Unbounded => f64::INFINITY,
            Demand::Rate(desired) => {
                (desired.as_bits_per_second() - rate.as_bits_per_second()) * self.segment_size / self.window()
            }
        };
        FlowHeader { rtt: self.rtt.unwrap_or(Duration::ZERO), rate, allocation }
    }

    /// Processes `Reverse_Feedback` in bit/s: cwnd = max(cwnd + feedback RTT, MSS).
    pub fn on_feedback(&mut self, feedback: f64) {
        let Some(rtt) = self.rtt else { return };
        if self.fallback.is_none() && feedback.is_finite() {
            self.cwnd = (self.cwnd + feedback / 8.0 * rtt.as_secs_f64()).max(self.segment_size);
        }
    }

    /// Processes the end of a round-trip time in which the sender has sent at the `actual` rate: a rate above
    /// it that was not used ages, so that it cannot be used at once much later.
    pub fn on_round_trip(&mut self, actual: DataRate) {
        let Some(rtt) = self.rtt else { return };
        let used = actual.as_bytes_per_second() * rtt.as_secs_f64();
        if self.fallback.is_none() && used < self.cwnd {
            self.cwnd = ((1.0 - Self::AGING) * self.cwnd + Self::AGING * used).max(self.segment_size);
        }
    }

    /// Processes an acknowledgement of new data, which matters to TCP's congestion control only.
    pub fn on_ack(&mut self, ack: &Acknowledgement) {
        if let Some((law, window)) = &mut self.fallback {
            law.on_ack(window, ack);
        }
    }

    /// Processes losses or marks, once per window of data.
    pub fn on_congestion(&mut self, signal: &CongestionSignal) {
        match self.loss_response {
            LossResponse::Halve => self.cwnd = (self.cwnd / 2.0).max(self.segment_size),
            LossResponse::FallBack => {
                let (law, window) = self.fall_back();
                law.on_congestion(window, signal);
            }
        }
    }

    /// Processes an expiration of the retransmission timer: the window is one segment. `repeated` as for
    /// [`WindowLaw`].
    pub fn on_timeout(&mut self, signal: &CongestionSignal, repeated: bool) {
        match self.loss_response {
            LossResponse::Halve => self.cwnd = self.segment_size,
            LossResponse::FallBack => {
                let (law, window) = self.fall_back();
                law.on_timeout(window, signal, repeated);
            }
        }
    }

    fn fall_back(&mut self) -> &mut (NewReno, Window) {
        let segments = self.cwnd / self.segment_size;
        self.fallback.get_or_insert_with(|| (NewReno::rfc5681(), Window::new(segments)))
    }

    /// Returns to XCP with the window that TCP's congestion control has reached.
    pub fn resume(&mut self) {
        if let Some((_, window)) = self.fallback.take() {
            self.cwnd = (window.cwnd * self.segment_size).max(self.segment_size);
        }
    }
}
