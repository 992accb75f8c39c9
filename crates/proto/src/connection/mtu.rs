//! How large a datagram may be (RFC 4340, Section 14).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, Kind, Options, Payload, SeqNo};

use super::path_mtu::{MIN, PathMtu, PathMtuPhase};
use super::timer::Timer;
use super::{Connection, Transmit};
use crate::Event;
use crate::config::PathMtuDiscovery;

/// Options that fit beside the largest datagram, in bytes. With the default of 1400 bytes, the
/// longest fixed header of a DataAck (24), UDP (8) and IPv6 (40), this makes 1500.
const OPTION_ROOM: usize = 28;
/// What the largest packet holds besides the largest datagram.
pub(super) const OVERHEAD: usize = 24 + OPTION_ROOM;

/// Advice on the size of packets that came before the connection was open, when nothing was being discovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EarlyAdvice {
    /// The network, or the driver, named the largest datagram.
    Limit(usize),
    /// This host refused to send a packet, and named nothing.
    Refused,
}

impl Connection {
    /// Command: the path carries datagrams of `limit` bytes at most (the driver got "too big" from
    /// its socket or from ICMP), or again as many as the configuration says. Larger ones in the
    /// queue are dropped: RFC 4340, Section 14.2 forbids to send them unfragmentable.
    ///
    /// Where the connection [discovers](PathMtuDiscovery) the limit itself, this is advice, which is tried out: below
    /// 1148 bytes only where datagrams of 1148 bytes do not arrive, below 496 bytes not at all.
    pub fn set_max_datagram(&mut self, now: Instant, limit: usize) {
        match &mut self.path_mtu {
            Some(path_mtu) => {
                path_mtu.on_too_big(now, limit.saturating_add(OVERHEAD));
                self.outbound.probe = None;
                self.adopt_path_mtu();
            }
            None => {
                let lowers = limit < self.config.max_datagram;
                self.outbound.early_advice = lowers.then_some(EarlyAdvice::Limit(limit));
                self.limit_datagrams(limit);
            }
        }
    }
    /// This host refused to send a packet for its size, without telling the limit. `assumed`: the
    /// largest datagram to send from now on, where the connection does not find out by itself.
    pub fn handle_too_large(&mut self, now: Instant, assumed: usize) {
        match &mut self.path_mtu {
            Some(path_mtu) => {
                path_mtu.on_refused(now);
                self.outbound.probe = None;
                self.adopt_path_mtu();
            }
            None => {
                self.outbound.early_advice = Some(EarlyAdvice::Refused);
                self.limit_datagrams(assumed);
            }
        }
    }
    pub(super) fn limit_datagrams(&mut self, limit: usize) {
        // RFC 4340, Section 14: the maximum packet size is the lesser of what the path carries and what
        // the congestion control allows (CCMPS).
        let allowed = self.congestion.max_datagram().unwrap_or(usize::MAX);
        let limit = limit.min(allowed).clamp(1, self.config.max_datagram);
        let was = core::mem::replace(&mut self.outbound.max_datagram, limit);
        self.outbound.queue.drop_larger_than(limit, &mut self.events);
        self.congestion.on_packet_size(limit);
        if was != limit && self.path_mtu.is_some() {
            self.events.push_back(Event::MaxDatagramChanged { max_datagram: limit });
        }
    }
    /// The largest datagram that `send` takes now, in bytes.
    pub(super) fn max_datagram(&self) -> usize {
        self.outbound.max_datagram
    }

    /// The connection is open: begins to probe the path, if it shall. Not before: the handshake says
    /// little about the packets that follow it (RFC 4340, Section 14.2).
    pub(super) fn start_path_mtu(&mut self, now: Instant) {
        let cautious = match self.config.path_mtu {
            PathMtuDiscovery::Off | PathMtuDiscovery::Automatic => return,
            PathMtuDiscovery::FromBase => true,
            PathMtuDiscovery::FromLargest => false,
        };
        // What was assumed before, or named by anybody, is no limit to the discovery but advice, which it tries out.
        let allowed = self.congestion.max_datagram().unwrap_or(usize::MAX);
        let wanted = self.config.max_datagram.min(allowed) + OVERHEAD;
        let mut path_mtu = PathMtu::new(now, wanted, cautious);
        if let Some(advice) = self.outbound.early_advice.take() {
            // It is advice about the size that was in use: the largest.
            path_mtu = PathMtu::new(now, wanted, false);
            match advice {
                EarlyAdvice::Refused => path_mtu.on_refused(now),
                EarlyAdvice::Limit(limit) => path_mtu.on_too_big(now, limit.saturating_add(OVERHEAD)),
            }
            if path_mtu.phase() == PathMtuPhase::Complete {
                // It was no use.
                path_mtu = PathMtu::new(now, wanted, cautious);
            }
        }
        self.path_mtu = Some(Box::new(path_mtu));
        self.adopt_path_mtu();
    }
    /// Packets take another path: tries what the old one, or `known`, carried. `holds`: larger datagrams than what almost every
    /// path carries wait meanwhile.
    pub(super) fn try_path_mtu(&mut self, now: Instant, known: Option<Box<PathMtu>>, holds: bool) {
        let rtt = self.rtt.or_default();
        self.outbound.probe = None;
        if known.is_some() {
            self.path_mtu = known;
        }
        if let Some(path_mtu) = &mut self.path_mtu {
            path_mtu.on_path_changed(now, rtt, holds);
        }
        self.adopt_path_mtu();
    }
    /// The other end knows from now on by which path to answer.
    pub(super) fn retry_path_mtu(&mut self, now: Instant) {
        let rtt = self.rtt.or_default();
        if let Some(path_mtu) = &mut self.path_mtu {
            self.outbound.probe = None;
            path_mtu.on_path_known(now, rtt);
            self.adopt_path_mtu();
        }
    }
    /// A valid packet arrived: should the path be new, it works.
    #[inline]
    pub(super) fn on_sign_of_path(&mut self, now: Instant) {
        if let Some(path_mtu) = &mut self.path_mtu
            && path_mtu.on_sign(now)
        {
            self.adopt_path_mtu();
        }
    }
    /// Whether a datagram of `size` bytes waits until it is known that the path carries it.
    #[inline]
    pub(super) fn is_size_on_trial(&self, size: usize) -> bool {
        let held_above = self.path_mtu.as_ref().and_then(|path_mtu| path_mtu.held_above());
        held_above.is_some_and(|limit| size + OVERHEAD > limit)
    }
    fn adopt_path_mtu(&mut self) {
        let Some(path_mtu) = &self.path_mtu else { return };
        let (size, wake_at) = (path_mtu.size(), path_mtu.wake_at());
        self.timers.set(Timer::PathMtu, wake_at);
        if size - OVERHEAD != self.outbound.max_datagram {
            self.limit_datagrams(size - OVERHEAD);
        }
    }
    /// A step of the discovery is due.
    pub(super) fn probe_path(&mut self, now: Instant) {
        let may = self.state.may_send_data() && !self.freezing.is_quiet();
        let Some(path_mtu) = self.path_mtu.as_mut().filter(|_| may) else { return };
        path_mtu.on_progress(now, self.sequence.numbers.gar());
        self.outbound.probe = path_mtu.handle_timeout(now);
        self.adopt_path_mtu();
        if self.outbound.probe.is_some() {
            self.timers.stop(Timer::PathMtu);
        }
    }
    /// After a freeze: what was put off.
    pub(super) fn resume_path_mtu(&mut self, now: Instant) {
        if self.path_mtu.is_some() && !self.timers.is_running(Timer::PathMtu) {
            self.timers.set(Timer::PathMtu, now);
        }
    }
    /// The probe that is due, if the congestion control lets one packet go.
    pub(super) fn path_probe(&mut self, now: Instant) -> Option<Transmit> {
        let (size, is_vital) = self.outbound.probe?;
        let path_mtu = self.path_mtu.as_mut()?;
        // RFC 8899, Section 3, item 7: probes are no excuse to send more. Whether what is being sent
        // arrives at all has to be found out, at one packet per second.
        let room = size.saturating_sub(OVERHEAD);
        if !is_vital && !self.congestion.may_send(now, Some(room)) {
            // It leaves before the next datagram. A sender that always has one to send would never find the time else.
            if !self.timers.is_running(Timer::PathMtu) {
                let again = self.rtt.or_default().max(Duration::from_millis(10));
                path_mtu.postpone(now + again);
                self.adopt_path_mtu();
            }
            return None;
        }
        self.outbound.probe = None;
        let ack = self.sequence.numbers.gsr();
        let mut transmit = self.emit(now, Kind::Sync { ack }, Options::new(), Payload::EMPTY, Ecn::NotEct);
        self.statistics.path_probes_sent += 1;
        let length = size.saturating_sub(transmit.packet.header_len());
        transmit.packet.payload = Payload::Opaque { length: length as u32, tag: 0 };
        let rtt = self.rtt.or_default();
        if let Some(path_mtu) = &mut self.path_mtu {
            path_mtu.on_probe_sent(now, transmit.packet.sequence, size, rtt);
        }
        self.adopt_path_mtu();
        Some(transmit)
    }
    /// A SyncAck arrived.
    pub(super) fn on_probe_answered(&mut self, now: Instant, ack: SeqNo) {
        if let Some(path_mtu) = &mut self.path_mtu
            && path_mtu.on_sync_ack(now, ack)
        {
            self.adopt_path_mtu();
        }
    }
    /// Acknowledgements have been missing for a while.
    pub(super) fn doubt_path(&mut self, now: Instant) {
        if let Some(path_mtu) = &mut self.path_mtu
            && path_mtu.doubt(now, self.rtt.or_default())
        {
            self.timers.set(Timer::PathMtu, now);
        }
    }
    /// A datagram of `size` bytes leaves.
    #[inline]
    pub(super) fn watch_path(&mut self, now: Instant, size: usize) {
        if let Some(path_mtu) = &mut self.path_mtu
            && size + OVERHEAD > MIN
        {
            let rtt = self.rtt.or_default();
            if path_mtu.on_large_sent(now, self.sequence.numbers.gar(), rtt) {
                self.timers.set(Timer::PathMtu, now);
            }
        }
    }
}
