//! The rate of an encoder whose packets go by RTP, from the reports of their arrivals.

use whimbrel_control::media::{Allowance, MediaController, Reception, SentPacket, SentPackets};
use whimbrel_units::{ByteCount, Duration, Instant};

/// A stream under a law, such as `Scream::new(ScreamConfig::new(limits))`.
pub struct RtpRate<L> {
    law: L,
    sent: SentPackets,
    next: u64,
}

impl<L: MediaController> RtpRate<L> {
    pub fn new(law: L) -> Self {
        Self { law, sent: SentPackets::new(10_000), next: 0 }
    }

    /// A packet is sent: returns its number, for the header extension.
    pub fn on_sent(&mut self, now: Instant, size: u64) -> u64 {
        let size = ByteCount::new(size);
        let packet = SentPacket { sequence: self.next, sent_at: now, captured_at: now, size, probe: None };
        self.sent.on_sent(packet);
        self.law.on_sent(&packet);
        self.next += 1;
        packet.sequence
    }

    /// Processes a report (RFC 8888 or transport-wide congestion control), which the receiver delayed by
    /// `held`.
    pub fn on_report(&mut self, now: Instant, report: Vec<(u64, Reception)>, held: Duration) -> Allowance {
        if let Some(feedback) = self.sent.on_report(now, report, held) {
            self.law.on_feedback(&feedback);
        }
        self.law.on_timer(now);
        self.law.allowance()
    }
}
