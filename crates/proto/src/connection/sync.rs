//! Sync and SyncAck: resynchronization (RFC 4340, Sections 5.7 and 7.5.4).

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{PacketType, SeqNo};

use super::timer::Backoff;
use crate::token_bucket::TokenBucket;

/// The most SyncAcks pending: a peer has no reason to send Syncs faster than they are answered.
const MAX_SYNC_ACKS: usize = 4;

/// The pending Syncs and SyncAcks.
#[derive(Clone, Debug)]
pub(crate) struct SyncState {
    /// The number that the next Sync acknowledges.
    sync: Option<SeqNo>,
    /// Sequence numbers of the Syncs not yet answered, oldest first.
    sync_acks: SmallVec<[SeqNo; MAX_SYNC_ACKS]>,
    /// RFC 4340, Section 7.5.4: at most eight Syncs per second.
    limit: TokenBucket,
    /// Paces Syncs that elicit an acknowledgement.
    probing: Backoff,
    /// Syncs with GSR that were sent since the last valid packet arrived.
    unanswered: u32,
    /// Time from which an acknowledgement may follow one of them.
    next_ack: Instant,
}

/// From so many unanswered Syncs on, acknowledgements follow.
const SYNCS_WITHOUT_ACK: u32 = 16;
/// A large acknowledgement may itself elicit a Sync that probes the path MTU.
const ACK_INTERVAL: Duration = Duration::from_secs(1);

/// Time for which a full Sequence Window waits before a Sync, in round-trip times.
const PROBE_INTERVAL_IN_RTT: u64 = 2;

impl SyncState {
    pub(crate) fn new() -> Self {
        Self {
            sync: None,
            sync_acks: SmallVec::new(),
            // A burst of two, and six more in a second.
            limit: TokenBucket::new(2, Duration::from_nanos(1_000_000_000 / 6)),
            probing: Backoff::new(Duration::ZERO),
            unanswered: 0,
            next_ack: Instant::ZERO,
        }
    }

    /// Requests a Sync that answers an invalid packet, subject to the rate limit.
    pub(crate) fn request_sync(&mut self, now: Instant, ack: SeqNo) {
        if self.limit.take(now) {
            self.sync = Some(ack);
        }
    }

    /// Acknowledgements are missing: returns the time to wait for one before sending a Sync.
    pub(crate) fn start_probing(&mut self, rtt: Duration) -> Duration {
        self.probing = Backoff::new(rtt.max(Duration::from_millis(1)) * PROBE_INTERVAL_IN_RTT);
        self.probing.take()
    }

    /// Requests a Sync, which elicits an acknowledgement, with GSR; returns the time to wait now.
    pub(crate) fn probe(&mut self, gsr: SeqNo) -> Duration {
        self.sync = Some(gsr);
        self.probing.take()
    }

    /// Requests a Sync that acknowledges `named`, to elicit the peer's current state.
    pub(crate) fn ask(&mut self, named: SeqNo) {
        self.sync = Some(named);
    }

    /// Counts a Sync that is sent with GSR. Returns `true` if an acknowledgement is to follow, since the peer
    /// may ignore the Sync.
    ///
    /// The loss of a whole window of answers leaves GSR before the peer's AWL, and a Sync that names it is
    /// invalid there. An invalid acknowledgement is not ignored: it elicits a Sync, which is valid here.
    #[must_use]
    pub(crate) fn on_sent(&mut self, now: Instant) -> bool {
        self.unanswered = self.unanswered.saturating_add(1);
        let is_due = self.unanswered > SYNCS_WITHOUT_ACK && self.next_ack <= now;
        if is_due {
            self.next_ack = now + ACK_INTERVAL;
        }
        is_due
    }

    /// A valid packet arrived.
    #[inline]
    pub(crate) fn on_valid(&mut self) {
        self.unanswered = 0;
    }

    /// Requests a SyncAck that answers a valid Sync.
    pub(crate) fn request_sync_ack(&mut self, ack: SeqNo) {
        if self.sync_acks.len() == MAX_SYNC_ACKS {
            self.sync_acks.remove(0);
        }
        self.sync_acks.push(ack);
    }

    /// Returns the type and Acknowledgement Number of the next Sync or SyncAck to send.
    pub(crate) fn take(&mut self) -> Option<(PacketType, SeqNo)> {
        if !self.sync_acks.is_empty() {
            return Some((PacketType::SyncAck, self.sync_acks.remove(0)));
        }
        self.sync.take().map(|ack| (PacketType::Sync, ack))
    }

    /// `true` if a Sync or SyncAck is pending.
    pub(crate) fn is_pending(&self) -> bool {
        self.sync.is_some() || !self.sync_acks.is_empty()
    }
}
