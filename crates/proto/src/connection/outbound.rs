//! Pending packets, and the state that determines the form of the next one.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Packet, PacketType, Reset, SeqNo};

use super::short_numbers::ShortNumbers;
use super::sync::SyncState;
use crate::refusal::refusal;
use crate::token_bucket::TokenBucket;

/// Pending packets. Each is owed at most once: a second request for the same packet changes nothing.
#[derive(Clone, Debug)]
pub(super) struct Outbound {
    request: bool,
    listen: bool,
    response: bool,
    /// The connection itself, rather than a CCID, requires an acknowledgement.
    ack: bool,
    /// A Close or CloseReq.
    close: bool,
    /// A Reset of this connection, and the number it acknowledges.
    reset: Option<Box<(Reset, SeqNo)>>,
    /// A Reset that takes its numbers from the packet that it answers.
    refusal: Option<Box<Packet>>,
    /// Rate limit of these.
    refusals: TokenBucket,
    syncs: SyncState,
    /// Decides whether sequence numbers may be short.
    short: ShortNumbers,
    /// `true` if the acknowledgement for which the next datagram left no room has been sent separately.
    went_ahead: bool,
    /// Number of consecutive packets sent without data (RFC 4340, Section 7.7).
    ndp_run: u64,
}

/// A pending packet that does not wait for congestion control.
#[derive(Debug)]
pub(super) enum Urgent {
    /// The Reset that ends the connection, and the number it acknowledges.
    Reset(Reset, SeqNo),
    /// A complete packet.
    Refusal(Packet),
    /// A Sync or SyncAck, and the number it acknowledges.
    Sync(PacketType, SeqNo),
    Request,
    Listen,
    Response,
    /// A Close or CloseReq.
    Close,
}

impl Outbound {
    pub(super) fn new() -> Self {
        Self {
            request: false,
            listen: false,
            response: false,
            ack: false,
            close: false,
            reset: None,
            refusal: None,
            // As for Syncs, the other answer to invalid packets.
            refusals: TokenBucket::new(2, Duration::from_nanos(1_000_000_000 / 6)),
            syncs: SyncState::new(),
            short: ShortNumbers::default(),
            went_ahead: false,
            ndp_run: 0,
        }
    }

    /// Cancels all pending packets but Resets.
    pub(super) fn stop(&mut self) {
        (self.request, self.listen, self.response, self.ack, self.close) =
            (false, false, false, false, false);
        self.syncs = SyncState::new();
    }

    /// Requests an acknowledgement, which data may carry.
    pub(super) fn request_ack(&mut self) {
        self.ack = true;
    }

    /// `true` if the connection requires an acknowledgement.
    pub(super) fn is_ack_requested(&self) -> bool {
        self.ack
    }

    /// An acknowledgement with everything that is due is being sent.
    pub(super) fn on_ack_sent(&mut self) {
        self.ack = false;
    }

    pub(super) fn owe_request(&mut self) {
        self.request = true;
    }

    pub(super) fn cancel_request(&mut self) {
        self.request = false;
    }

    pub(super) fn owe_listen(&mut self) {
        self.listen = true;
    }

    pub(super) fn cancel_listen(&mut self) {
        self.listen = false;
    }

    pub(super) fn owe_response(&mut self) {
        self.response = true;
    }

    pub(super) fn cancel_response(&mut self) {
        self.response = false;
    }

    /// Schedules a Close or CloseReq.
    pub(super) fn owe_close(&mut self) {
        self.close = true;
    }

    /// Schedules the Reset that ends the connection and acknowledges `ack`.
    pub(super) fn owe_reset(&mut self, reset: Reset, ack: SeqNo) {
        self.reset = Some(Box::new((reset, ack)));
    }

    /// `true` if the Reset that ends the connection is pending.
    pub(super) fn owes_reset(&self) -> bool {
        self.reset.is_some()
    }

    /// Answers an unexpected packet with a Reset, subject to a rate limit.
    pub(super) fn refuse(&mut self, now: Instant, packet: &Packet, reset: Reset) {
        if let Some(answer) = refusal(packet, reset)
            && self.refusals.take(now)
        {
            self.refusal = Some(Box::new(answer));
        }
    }

    /// Answers the packet that ends the connection with a Reset.
    pub(super) fn refuse_finally(&mut self, packet: &Packet, reset: Reset) {
        self.refusal = refusal(packet, reset).map(Box::new);
    }

    /// The pending Syncs and SyncAcks.
    pub(super) fn syncs(&mut self) -> &mut SyncState {
        &mut self.syncs
    }

    /// Records that a Sync is sent. An acknowledgement follows one with GSR that the peer may ignore.
    pub(super) fn on_sync_sent(&mut self, now: Instant, names_gsr: bool) {
        if names_gsr && self.syncs.on_sent(now) {
            self.request_ack();
        }
    }

    /// `true` if [`Outbound::take_urgent`] would return a packet.
    #[inline]
    pub(super) fn is_urgent(&self) -> bool {
        self.request
            || self.listen
            || self.response
            || self.close
            || self.reset.is_some()
            || self.refusal.is_some()
            || self.syncs.is_pending()
    }

    /// Removes the next packet that does not wait for congestion control: Resets, Syncs, then the handshake.
    /// A Close stays if `holds_close`.
    pub(super) fn take_urgent(&mut self, holds_close: bool) -> Option<Urgent> {
        let take = core::mem::take::<bool>;
        if let Some(reset) = self.reset.take() {
            let (reset, ack) = *reset;
            Some(Urgent::Reset(reset, ack))
        } else if let Some(packet) = self.refusal.take() {
            Some(Urgent::Refusal(*packet))
        } else if let Some((packet_type, ack)) = self.syncs.take() {
            Some(Urgent::Sync(packet_type, ack))
        } else if take(&mut self.request) {
            Some(Urgent::Request)
        } else if take(&mut self.listen) {
            Some(Urgent::Listen)
        } else if take(&mut self.response) {
            Some(Urgent::Response)
        } else if !holds_close && take(&mut self.close) {
            Some(Urgent::Close)
        } else {
            None
        }
    }

    /// Sets the number of consecutive packets sent without data.
    #[cfg(test)]
    pub(super) fn set_ndp_run(&mut self, ndp_run: u64) {
        self.ndp_run = ndp_run;
    }

    /// `true` if the acknowledgement for which the next datagram left no room has been sent separately.
    pub(super) fn has_ack_gone_ahead(&self) -> bool {
        self.went_ahead
    }

    /// Records that the next datagram's acknowledgement is sent separately, or that the datagram itself is
    /// sent.
    pub(super) fn set_ack_gone_ahead(&mut self, went_ahead: bool) {
        self.went_ahead = went_ahead;
    }

    /// Number of consecutive packets sent without data (RFC 4340, Section 7.7).
    #[inline]
    pub(super) fn ndp_run(&self) -> u64 {
        self.ndp_run
    }

    /// Accounts for a packet being sent.
    #[inline]
    pub(super) fn on_sent(&mut self, has_data: bool) {
        self.ndp_run = if has_data { 0 } else { self.ndp_run + 1 };
    }

    /// Called for each packet that both ends permit to have short sequence numbers. Returns `true` if it may
    /// have them, given both ends' windows.
    #[inline]
    pub(super) fn may_shorten(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        windows: [u64; 2],
        msl: Duration,
    ) -> bool {
        self.short.may_shorten(now, sequence, windows, msl)
    }
}
