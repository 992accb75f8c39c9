//! Counters of repair, for report lines and JSON.

use std::fmt;

use serde::Serialize;
use whimbrel_net::RepairCounts;

/// Counters of repair, in datagrams unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RepairView {
    /// Repeats that this end sent.
    pub(super) repeats_sent: u64,
    /// Coded packets that this end sent.
    pub(super) coded_sent: u64,
    /// Bytes of repeats, coded packets and reports that this end sent, divided by the bytes of its datagrams.
    pub(super) overhead: f64,
    /// Datagrams of the other end that repeats brought.
    pub(super) repeated: u64,
    /// Datagrams of the other end that the code restored.
    pub(super) restored: u64,
    /// Datagrams of the other end that were not repaired in time.
    pub(super) given_up: u64,
    /// Frames of this end of which no repeat could arrive in time: the latency is below the round-trip time.
    pub(super) without_round: u64,
    /// Frames of this end for which no choice of repeats and coded packets is enough.
    pub(super) out_of_reach: u64,
    /// Repeats and coded packets that were not sent, because they exceeded their share of the data.
    pub(super) over_share: u64,
    /// Datagrams of the other end delivered before their time, because the window was full.
    pub(super) hurried: u64,
    /// Messages by which encoders at this end were asked for a key frame.
    pub(super) key_frames_asked: u64,
}

impl RepairView {
    /// Bytes of repeats, coded packets and reports that this end sent, divided by the bytes of its datagrams.
    pub fn overhead(&self) -> f64 {
        self.overhead
    }
}

impl From<RepairCounts> for RepairView {
    fn from(RepairCounts { sent, received, .. }: RepairCounts) -> Self {
        let extra = sent.repair_bytes + received.report_bytes;
        Self {
            repeats_sent: sent.repeats,
            coded_sent: sent.parity + sent.surplus,
            overhead: if sent.source_bytes > 0 { extra as f64 / sent.source_bytes as f64 } else { 0.0 },
            repeated: received.repeated,
            restored: received.restored,
            given_up: received.lost,
            without_round: sent.without_round,
            out_of_reach: sent.out_of_reach,
            over_share: sent.over_share,
            hurried: received.hurried,
            key_frames_asked: 0,
        }
    }
}

impl fmt::Display for RepairView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.repeats_sent + self.coded_sent > 0 {
            let percent = self.overhead * 100.0;
            write!(
                f,
                "; repair: {} repeated, {} coded, {percent:.1} % more",
                self.repeats_sent, self.coded_sent
            )?;
        }
        if self.repeated + self.restored + self.given_up > 0 {
            let repaired = self.repeated + self.restored;
            write!(f, "; {repaired} repaired, {} given up", self.given_up)?;
        }
        if self.key_frames_asked > 0 {
            write!(f, "; key frames asked for {} times", self.key_frames_asked)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_was_sent_and_what_was_repaired() {
        let mut counts = RepairCounts::default();
        assert_eq!(RepairView::from(counts).to_string(), "");
        (counts.sent.source_bytes, counts.sent.repair_bytes) = (100_000, 4_500);
        (counts.sent.repeats, counts.sent.surplus, counts.received.report_bytes) = (3, 1, 500);
        assert_eq!(RepairView::from(counts).to_string(), "; repair: 3 repeated, 1 coded, 5.0 % more");
        (counts.sent.repeats, counts.sent.surplus) = (0, 0);
        (counts.received.repeated, counts.received.restored, counts.received.lost) = (7, 2, 1);
        let mut view = RepairView::from(counts);
        assert_eq!(view.to_string(), "; 9 repaired, 1 given up");
        counts.sent.over_share = 4;
        (counts.sent.without_round, counts.sent.out_of_reach, counts.received.hurried) = (6, 5, 8);
        let json = serde_json::to_value(RepairView::from(counts)).expect("JSON");
        let of = ["without_round", "out_of_reach", "over_share", "hurried"].map(|name| json[name].as_u64());
        assert_eq!(of, [6, 5, 4, 8].map(Some));
        view.key_frames_asked = 2;
        assert_eq!(view.to_string(), "; 9 repaired, 1 given up; key frames asked for 2 times");
    }
}
