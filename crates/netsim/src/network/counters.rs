//! Counters of a link.

use core::ops::{AddAssign, SubAssign};

/// A number of packets and of their bytes on the link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes, including IP and transport headers.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add_packet(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}
impl SubAssign for Count {
    fn sub_assign(&mut self, other: Self) {
        self.packets -= other.packets;
        self.bytes -= other.bytes;
    }
}

/// A link's counters since the beginning of the run.
///
/// `enqueued` = waiting in the queue + `departed` + those a failing link lost before they left, and
/// `departed` + `duplicated` = under way + `delivered` + `wireless_lost` + those lost with a failing link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LinkStats {
    /// Accepted by the queue.
    pub enqueued: Count,
    /// Left the transmitter completely, including those that the impairment then destroyed.
    pub departed: Count,
    /// Arrived at the other end, damaged or not.
    pub delivered: Count,
    /// Dropped by the queue: because it was full, or to signal congestion.
    pub dropped: Count,
    /// Destroyed by the impairment, and not delivered.
    pub wireless_lost: Count,
    /// Delivered, but with content that the impairment damaged.
    pub damaged: Count,
    /// Copies that were made at the link's end: they are among those delivered, or dropped there.
    pub duplicated: Count,
    /// Offered while the link was down, or lost because it went down.
    pub down_lost: Count,
    /// Marked as having experienced congestion.
    pub marked: Count,
}

/// A link's queue at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueSnapshot {
    /// Waiting or being transmitted.
    pub queued: Count,
    /// Transmitted, not arrived yet.
    pub under_way: Count,
}
