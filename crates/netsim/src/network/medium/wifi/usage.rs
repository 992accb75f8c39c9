//! Counters of the channels of a medium.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::Frame;

/// The use of a channel by all stations on it, wherever they are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChannelUsage {
    /// Frames transmitted.
    pub frames: u64,
    /// Frames with a payload that repeat an earlier one.
    pub retries: u64,
    /// Frames that began while another was on the air, in range or not: collisions, hidden senders and
    /// spatial reuse.
    pub overlapping: u64,
    /// The sum of the frames' times on the air. A frame counts from its beginning.
    pub air_time: Duration,
    /// The time in which at least one frame was on the air.
    pub busy: Duration,
    busy_until: Instant,
}

impl ChannelUsage {
    fn add(&mut self, now: Instant, frame: &Frame) {
        let end = now + frame.air_time;
        self.frames += 1;
        self.retries += u64::from(frame.is_retry);
        self.overlapping += u64::from(now < self.busy_until);
        self.air_time += frame.air_time;
        self.busy += end.saturating_since(self.busy_until.max(now));
        self.busy_until = self.busy_until.max(end);
    }

    /// The use since `before`, an earlier state of the same counters.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            frames: self.frames - before.frames,
            retries: self.retries - before.retries,
            overlapping: self.overlapping - before.overlapping,
            air_time: self.air_time - before.air_time,
            busy: self.busy - before.busy,
            busy_until: self.busy_until,
        }
    }
}

/// The use of each channel on which a frame was transmitted, in the order of their numbers.
#[derive(Clone, Default, Debug)]
pub(super) struct Usage(Vec<(u8, ChannelUsage)>);

impl Usage {
    /// A frame on a channel begins.
    pub(super) fn add(&mut self, now: Instant, channel: u8, frame: &Frame) {
        let position = self.0.binary_search_by_key(&channel, |entry| entry.0).unwrap_or_else(|position| {
            self.0.insert(position, (channel, ChannelUsage::default()));
            position
        });
        self.0[position].1.add(now, frame);
    }

    pub(super) fn all(&self) -> &[(u8, ChannelUsage)] {
        &self.0
    }
}

#[cfg(test)]
mod tests;
