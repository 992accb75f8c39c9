//! Monotonic counters: the difference of two readings counts the events in between.

use core::ops::{Add, Sub};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counts of one end of a flow, or of both together, since the start.
        ///
        /// "Packets" carry application data; acknowledgements and other packets without data are "feedback",
        /// no matter which end sends them. Bytes are bytes on the link.
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
            /// The counts since `earlier`.
            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

impl Counters {
    /// Packets lost in the network, for any reason.
    pub fn lost_packets(&self) -> u64 {
        self.lost_host + self.lost_queue + self.lost_wireless + self.lost_down + self.lost_other
    }

    /// Packets still in the network; valid for the counts of both ends since the start.
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
    /// Packets that the network delivered to the flow's receiver, duplicates included.
    network_packets,
    /// Links and stations that they were sent over, in all.
    network_hops,
    /// Application data delivered, in bytes.
    delivered_bytes,
    /// Packets whose data was delivered to the application. For TCP, which delivers bytes, arrivals that
    /// caused a delivery.
    delivered_packets,
    /// Packets that arrived and whose data the receiving end did not accept: no connection (any more),
    /// corrupt data, or data that it classified as old.
    refused_packets,
    /// Bytes of packets that left the bottleneck, including those lost behind it.
    bottleneck_bytes,
    /// These packets.
    bottleneck_packets,
    /// Packets lost because the send queue of their sender's host was full.
    lost_host,
    /// Packets lost because a queue of the network was full.
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
    /// Packets that the receiver held because earlier ones were missing, and those whose loss it had not
    /// classified yet.
    held_packets,
    /// Missing packets that it gave up, including those that arrived later.
    given_up_packets,
    /// Packets that arrived after they were given up, and were discarded.
    late_packets,
    /// Congestion losses that the flow's receiver has classified, with a classifier or without.
    congestion_judged,
    /// Other losses that it has classified.
    wireless_judged,
    /// Congestion losses that the flow's classifier classifies as wireless.
    congestion_misclassified,
    /// Other losses that the flow's classifier classifies as congestion.
    wireless_misclassified,
    /// Packets that arrived and were accepted although a link's medium had damaged their data.
    damaged_packets,
    /// Packets that the receiver has reported as corrupt to the sender (RFC 4340, Section 11.7, Drop Codes 3
    /// and 7).
    reported_corrupt,
    /// Datagrams that expired in the send queue.
    expired_datagrams,
    /// Datagrams dropped because the send queue was full.
    overflowed_datagrams,
    /// Retransmitted packets.
    retransmitted_packets,
    /// Retransmission timeouts.
    timeouts,
}
