//! Congestion control of the acknowledgements (RFC 4341, Section 6.1).
//!
//! The receiver sends about one acknowledgement per Ack Ratio data packets. The sender detects lost
//! acknowledgements from the receiver's sequence numbers, doubles the ratio for each window of data with a
//! loss, and decrements it after a number of loss-free windows chosen such that the acknowledgements grow by
//! about one per window, as TCP's data does (Appendix A).

use whimbrel_wire::SeqNo;

use super::NUMDUPACK;

/// The largest value of the feature (RFC 4340, Section 11.3).
const MAX_RATIO: u64 = 0xffff;
/// Number of windows of data after which a window of one or two packets counts as persistent, which permits a
/// ratio of one (RFC 4341, Section 6.1.2).
const PERSISTENT: u64 = 4;

/// The Ack Ratio and the state that determines its changes.
#[derive(Clone, Debug)]
pub(super) struct AckRatio {
    in_force: u64,
    /// The value that the sender requests.
    wanted: u64,
    /// `true` if that value was not requested yet.
    is_news: bool,
    losses: AckLosses,
    /// `true` if an acknowledgement was lost or marked in the current window of data.
    is_congested: bool,
    /// Number of consecutive windows of data without such an acknowledgement.
    clean_windows: u64,
    /// The last packet sent when the current window of data began.
    window_end: Option<SeqNo>,
}

impl AckRatio {
    /// The initial value of the feature (RFC 4340, Section 11.3).
    pub(super) const INITIAL: u64 = 2;

    pub(super) fn new() -> Self {
        Self {
            in_force: Self::INITIAL,
            wanted: Self::INITIAL,
            is_news: false,
            losses: AckLosses::default(),
            is_congested: false,
            clean_windows: 0,
            window_end: None,
        }
    }

    /// The value in force.
    pub(super) fn in_force(&self) -> u64 {
        self.in_force
    }

    /// Sets the value in force.
    pub(super) fn set_in_force(&mut self, ratio: u64) {
        self.in_force = ratio;
    }

    /// Returns the next value to request.
    pub(super) fn take_request(&mut self) -> Option<u64> {
        core::mem::take(&mut self.is_news).then_some(self.wanted)
    }

    /// Processes a packet of the receiver; `marked` if it is one that cannot carry data and was marked.
    /// `ndp_count` is its NDP Count.
    ///
    /// A lost packet is assumed to be an acknowledgement, unless an NDP Count shows that it had data (RFC
    /// 4341, Section 6.1.1). Otherwise an end that sends data would reduce the rate of its acknowledgements
    /// because of lost data (Appendix B).
    pub(super) fn on_packet(&mut self, sequence: SeqNo, ndp_count: Option<u64>, marked: bool) {
        self.is_congested |= self.losses.on_packet(sequence, ndp_count) | marked;
    }

    /// Processes an acknowledgement of packet `ack`, when `last` was the last one sent; the window is `cwnd`
    /// packets.
    pub(super) fn on_ack(&mut self, ack: SeqNo, last: SeqNo, cwnd: u32) {
        let cwnd = u64::from(cwnd);
        if self.window_end.is_some_and(|end| !ack.is_after(end)) {
            // A smaller window may not permit this ratio any more.
            self.want(self.wanted, cwnd);
            return;
        }
        self.window_end = Some(last);
        let ratio = self.wanted;
        if core::mem::take(&mut self.is_congested) {
            self.clean_windows = 0;
            self.want(ratio * 2, cwnd);
            return;
        }
        self.clean_windows += 1;
        let enough = match ratio {
            1 => return self.want(ratio, cwnd),
            2 => PERSISTENT,
            _ => cwnd.div_ceil(ratio * ratio - ratio),
        };
        if self.clean_windows >= enough && (ratio > 2 || cwnd <= 2) {
            self.clean_windows = 0;
            self.want(ratio - 1, cwnd);
        } else {
            self.want(ratio, cwnd);
        }
    }

    /// Selects the permitted value nearest to `ratio`: at most half the window, rounded up, though 2 is
    /// always permitted; and at least 2 from windows of four on (RFC 4341, Section 6.1.2).
    fn want(&mut self, ratio: u64, cwnd: u64) {
        let most = cwnd.div_ceil(2).clamp(2, MAX_RATIO);
        let least = if cwnd >= 4 { 2 } else { 1 };
        let ratio = ratio.clamp(least, most);
        if ratio != self.wanted {
            self.wanted = ratio;
            self.is_news = true;
        }
    }
}

/// Detects the receiver's lost packets: those with three later ones that have arrived.
#[derive(Clone, Debug, Default)]
struct AckLosses {
    /// The highest number received.
    highest: Option<SeqNo>,
    /// Bitmap of the received numbers from `highest` downwards, from the lowest bit on.
    arrived: u64,
    /// Bitmap of the missing numbers known to be of packets with data.
    data: u64,
    /// All lower numbers have been classified.
    judged: SeqNo,
    /// `true` if the receiver sends NDP Counts, so that a missing option means zero.
    counts: bool,
}

impl AckLosses {
    /// Processes a received packet. Returns `true` if other packets are now lost that may have been
    /// acknowledgements.
    fn on_packet(&mut self, sequence: SeqNo, ndp_count: Option<u64>) -> bool {
        self.counts |= ndp_count.is_some();
        let Some(highest) = self.highest else {
            (self.highest, self.arrived, self.judged) = (Some(sequence), 1, sequence);
            return false;
        };
        match sequence.distance_from(highest) {
            step @ 1..64 => {
                self.arrived = self.arrived << step | 1;
                self.data <<= step;
                // The packet before the run of those without data had data.
                let run = ndp_count.unwrap_or(0);
                if self.counts && run + 1 < step as u64 {
                    self.data |= 1 << (run + 1);
                }
                self.highest = Some(sequence);
                self.judge(sequence)
            }
            64.. => {
                (self.arrived, self.data, self.highest) = (1, 0, Some(sequence));
                false
            }
            step @ -63..=0 => {
                self.arrived |= 1 << -step;
                false
            }
            _ => false,
        }
    }

    fn judge(&mut self, highest: SeqNo) -> bool {
        let mut later = self.arrived;
        for _ in 1..NUMDUPACK {
            later &= later.wrapping_sub(1);
        }
        if later == 0 {
            return false;
        }
        // The third highest number received, and its distance from the last one classified.
        let third = later.trailing_zeros();
        let open = highest.sub(third.into()).distance_from(self.judged);
        if open <= 0 {
            return false;
        }
        self.judged = self.judged.add(open as u64);
        // Both ends of that range have arrived. If all packets between them have, or had data, the range has
        // `open + 1` numbers. Numbers beyond the bitmap are behind a gap.
        let span = u64::from(third) + open as u64;
        let stretch = u64::MAX << third & (u64::MAX >> (63 - span.min(63)));
        span >= 64 || i64::from(((later | self.data) & stretch).count_ones()) <= open
    }
}

#[cfg(test)]
mod tests;
