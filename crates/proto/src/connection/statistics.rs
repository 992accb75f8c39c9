//! Counters of a connection.

/// Counters of a connection since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of packets sent, of any type.
    pub packets_sent: u64,
    /// Number of valid packets received.
    pub packets_received: u64,
    /// Number of datagrams sent.
    pub datagrams_sent: u64,
    /// Number of bytes of application data sent.
    pub bytes_sent: u64,
    /// Number of datagrams received.
    pub datagrams_received: u64,
    /// Number of bytes of application data received.
    pub bytes_received: u64,
    /// Number of datagrams dropped from the send queue.
    pub datagrams_dropped: u64,
    /// Dropped datagrams that were larger than the path carried by then.
    pub datagrams_too_large: u64,
    /// Number of datagrams that arrived, but did not reach the application as sent (RFC 4340, Section 11.7).
    pub datagrams_discarded: u64,
    /// Number of datagrams of this end for which the peer reported that.
    pub datagrams_lost_at_peer: u64,
    /// Number of packets that were malformed, out of sequence, duplicates or not allowed in the state.
    pub packets_ignored: u64,
    /// Number of Sync packets sent, except path MTU probes.
    pub syncs_sent: u64,
    /// Number of path MTU probes sent (RFC 8899).
    pub path_probes_sent: u64,
}
