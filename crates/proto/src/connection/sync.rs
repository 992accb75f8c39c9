//! Sync and SyncAck: getting back into step (RFC 4340, Sections 5.7 and 7.5.4).

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{PacketType, SeqNo};

use super::timer::Backoff;
use crate::token_bucket::TokenBucket;

/// SyncAcks owed at most: a peer has no reason to send Syncs faster than they are answered.
const MAX_SYNC_ACKS: usize = 4;

/// The Syncs and SyncAcks that wait to be sent.
#[derive(Clone, Debug)]
pub(crate) struct SyncState {
    /// The number that the next Sync acknowledges.
    sync: Option<SeqNo>,
    /// The numbers of Syncs not yet answered, oldest first.
    sync_acks: SmallVec<[SeqNo; MAX_SYNC_ACKS]>,
    /// RFC 4340, Section 7.5.4: not more than eight Syncs per second.
    limit: TokenBucket,
    /// When the last valid packet arrived.
    last_valid: Option<Instant>,
    /// Paces Syncs that are to elicit an acknowledgement.
    probing: Backoff,
}

/// How long a full Sequence Window is left to itself, in round-trip times.
const PROBE_INTERVAL_IN_RTT: u64 = 2;

impl SyncState {
    pub(crate) fn new() -> Self {
        Self {
            sync: None,
            sync_acks: SmallVec::new(),
            // Two at once and six more in a second.
            limit: TokenBucket::new(2, Duration::from_nanos(1_000_000_000 / 6)),
            last_valid: None,
            probing: Backoff::new(Duration::ZERO),
        }
    }
    /// A packet made no sense: ask the peer where it is, unless that was asked too often lately.
    pub(crate) fn request_sync(&mut self, now: Instant, ack: SeqNo) {
        if self.limit.take(now) {
            self.sync = Some(ack);
        }
    }
    /// Acknowledgements are missing: how long to wait for one before asking.
    pub(crate) fn start_probing(&mut self, rtt: Duration) -> Duration {
        self.probing = Backoff::new(rtt.max(Duration::from_millis(1)) * PROBE_INTERVAL_IN_RTT);
        self.probing.take()
    }
    /// Ask for an acknowledgement, which every Sync elicits, naming GSR; and how long to wait now.
    pub(crate) fn probe(&mut self, gsr: SeqNo) -> Duration {
        self.sync = Some(gsr);
        self.probing.take()
    }
    /// Ask how the other end is, naming a packet of it.
    pub(crate) fn ask(&mut self, named: SeqNo) {
        self.sync = Some(named);
    }
    /// A valid Sync arrived: answer it.
    pub(crate) fn request_sync_ack(&mut self, ack: SeqNo) {
        if self.sync_acks.len() == MAX_SYNC_ACKS {
            self.sync_acks.remove(0);
        }
        self.sync_acks.push(ack);
    }
    /// The next Sync or SyncAck to send: its type and Acknowledgement Number.
    pub(crate) fn take(&mut self) -> Option<(PacketType, SeqNo)> {
        if !self.sync_acks.is_empty() {
            return Some((PacketType::SyncAck, self.sync_acks.remove(0)));
        }
        self.sync.take().map(|ack| (PacketType::Sync, ack))
    }
    /// Whether one waits.
    pub(crate) fn is_pending(&self) -> bool {
        self.sync.is_some() || !self.sync_acks.is_empty()
    }
    /// A valid packet arrived.
    pub(crate) fn on_valid(&mut self, now: Instant) {
        self.last_valid = Some(now);
    }
    /// When the last valid packet arrived.
    pub(crate) fn last_valid(&self) -> Option<Instant> {
        self.last_valid
    }
    /// Whether the connection is active: a valid packet came within three round-trip times (RFC 4340, Section 7.5.3).
    pub(crate) fn is_active(&self, now: Instant, rtt: Duration) -> bool {
        self.last_valid.is_some_and(|last| now - last <= rtt * 3)
    }
}
