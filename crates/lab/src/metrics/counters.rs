//! Counts that only grow, so that the difference of two readings tells what happened in between.

use core::ops::{Add, Sub};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What one end of a flow, or both together, have counted since the start.
        ///
        /// "Packets" are those that carry application data; acknowledgements and other packets
        /// without data are "feedback" whichever end sends them. Bytes are bytes on the link.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64,)*
        }
        impl Add for Counters {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)* }
            }
        }
        impl Sub for Counters {
            type Output = Self;
            /// What happened since `earlier`.
            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

impl Counters {
    /// Packets lost on the way, for any reason.
    pub fn lost_packets(&self) -> u64 {
        self.lost_queue + self.lost_wireless + self.lost_down + self.lost_other
    }
    /// Of both ends since the start: packets that are still on their way.
    pub fn pending(&self) -> u64 {
        // Packets that a test injects arrive without having been sent.
        self.sent_packets.saturating_sub(self.received_packets + self.lost_packets())
    }
}

counters! {
    /// Packets sent.
    sent_packets,
    /// Their bytes.
    sent_bytes,
    /// Packets without data sent, by either end.
    feedback_packets,
    /// Their bytes.
    feedback_bytes,
    /// Packets that arrived.
    received_packets,
    /// Their bytes.
    received_bytes,
    /// Application data delivered, in bytes.
    delivered_bytes,
    /// Packets whose data the application got. Of a TCP flow, which delivers bytes, arrivals that let it deliver some.
    delivered_packets,
    /// Packets that arrived and whose data the receiving end did not take: no connection (any more), data that are corrupt
    /// or that it takes for old.
    refused_packets,
    /// Bytes of packets that left the bottleneck, whatever became of them later.
    bottleneck_bytes,
    /// These packets.
    bottleneck_packets,
    /// Packets lost because a queue was full.
    lost_queue,
    /// Packets destroyed by a link's medium, and not accepted.
    lost_wireless,
    /// Packets lost because a link was down.
    lost_down,
    /// Packets lost for any other reason: no route, no receiver.
    lost_other,
    /// Losses without data (feedback), for any reason.
    lost_feedback,
    /// Packets that arrived with a congestion mark.
    marked_packets,
    /// Packets that arrived after one that was sent later.
    reordered_packets,
    /// Packets that the receiver had to keep because others before them were missing, and those whose loss it would not
    /// judge yet.
    held_packets,
    /// Packets that it waited for in vain, also those that came later.
    given_up_packets,
    /// Packets that came later than that and were discarded.
    late_packets,
    /// Losses to congestion that the flow's receiver has judged, with a classifier or without.
    congestion_judged,
    /// Other losses that it has judged.
    wireless_judged,
    /// Losses in queues that the flow's classifier takes for wireless.
    congestion_misclassified,
    /// Losses that were not congestion but that the flow's classifier takes for it.
    wireless_misclassified,
    /// Packets that arrived and were accepted although a link's medium had damaged their data.
    damaged_packets,
    /// Packets that the receiver has named as corrupt to the sender (RFC 4340, Section 11.7, Drop Codes 3 and 7).
    reported_corrupt,
    /// Datagrams that got too old in the send queue.
    expired_datagrams,
    /// Datagrams that the send queue had no room for.
    overflowed_datagrams,
    /// Retransmitted packets.
    retransmitted_packets,
    /// Retransmission timeouts.
    timeouts,
}
