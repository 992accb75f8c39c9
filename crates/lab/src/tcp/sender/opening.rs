//! The handshake, as far as a sender sees it: a SYN and its acknowledgement.

use whimbrel_control::window::InitialWindow;
use whimbrel_units::{Duration, Instant};

use super::TcpSender;
use super::paced::Paced;
use crate::tcp::config::EcnMode;
use crate::tcp::segment::{Flags, Segment};

/// The state of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    /// A SYN is to be sent as soon as there is data.
    Waiting,
    /// The SYN was last sent at `at`, and `times` times in all.
    Sent { at: Instant, times: u32 },
    /// The other end has answered.
    Done,
}

impl Opening {
    pub(super) fn is_done(self) -> bool {
        self == Self::Done
    }
}

impl TcpSender {
    pub(super) fn poll_syn(&mut self, now: Instant) -> Option<Segment> {
        let times = match self.opening {
            Opening::Waiting if self.stream.end_with_fin() > 0 => 0,
            // The timer has cleared its deadline: once more.
            Opening::Sent { times, .. } if self.timers.retransmission.is_none() => times,
            _ => return None,
        };
        self.opening = Opening::Sent { at: now, times: times + 1 };
        self.timers.retransmission = Some(now + self.rtt.rto());
        let mut flags = Flags::SYN;
        if self.config.receiver.sack_blocks > 0 {
            flags |= Flags::SACK_PERMITTED;
        }
        if self.config.ecn != EcnMode::Off {
            // RFC 3168, Section 6.1.1.
            flags |= Flags::ECE | Flags::CWR;
        }
        if self.config.ecn == EcnMode::Accurate {
            // RFC 9768, Section 3.1.1.
            flags |= Flags::AE;
        }
        Some(Segment {
            flags,
            mss: self.config.segment_size.min(u32::from(u16::MAX)) as u16,
            window: self.config.receiver.window,
            timestamps: self.timestamps(now),
            ..Segment::default()
        })
    }

    pub(super) fn on_syn_ack(&mut self, now: Instant, segment: &Segment) {
        let Opening::Sent { at, times } = self.opening else {
            return;
        };
        self.opening = Opening::Done;
        self.timers.retransmission = None;
        self.offered = u64::from(segment.window);
        if times == 1 {
            self.rtt.on_round_trip(at, now);
            return;
        }
        // RFC 5681, Section 3.1: one segment after a SYN that was lost.
        self.window.cwnd = InitialWindow::Segments(1).segments(self.config.segment_size);
        self.paced = Paced::new(&self.config, self.recovery.method, &self.window);
        // RFC 6298, Section 5.7.
        let repeated = Duration::from_secs(3).max(self.config.rto.initial);
        self.rtt.restart(repeated);
    }
}
