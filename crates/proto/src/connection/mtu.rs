//! The largest datagram (RFC 4340, Section 14).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, Kind, Options, Payload, SeqNo};

use super::path_mtu::{MIN, PathMtu, PathMtuPhase};
use super::timer::Timer;
use super::{Connection, Transmit};
use crate::Event;
use crate::config::PathMtuDiscovery;

/// Number of bytes of options that fit beside the largest datagram. With the default of 1400 bytes, the longest fixed
/// header of a DataAck (24), UDP (8) and IPv6 (40), this makes 1500.
const OPTION_ROOM: usize = 28;
/// Difference between the largest packet and the largest datagram.
pub(super) const OVERHEAD: usize = 24 + OPTION_ROOM;

/// Information about the path MTU that came before the connection was open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EarlyAdvice {
    /// The network, or the driver, reported the largest datagram.
    Limit(usize),
    /// This host refused to send a packet, without reporting a limit.
    Refused,
}

impl Connection {
    /// Reports that the path carries datagrams of at most `limit` bytes (the driver got "too big" from its socket or
    /// from ICMP), or again as many as configured. Larger ones in the queue are dropped: RFC 4340, Section 14.2 forbids
    /// sending them unfragmentable.
    ///
    /// If the connection [discovers](PathMtuDiscovery) the path MTU itself, `limit` is a hint, which is probed: below
    /// 1148 bytes only if datagrams of 1148 bytes do not arrive, below 496 bytes not at all.
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
    /// Reports that this host refused to send a packet for its size, without a limit. `assumed`: the largest datagram
    /// to send from now on, if the connection does not discover the path MTU itself.
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
    /// The largest datagram that `send` accepts now, in bytes.
    pub(super) fn max_datagram(&self) -> usize {
        self.outbound.max_datagram
    }

    /// Starts path MTU discovery, if enabled, once the connection is open. The handshake says little about the packets
    /// that follow it (RFC 4340, Section 14.2).
    pub(super) fn start_path_mtu(&mut self, now: Instant) {
        let cautious = match self.config.path_mtu {
            PathMtuDiscovery::Off | PathMtuDiscovery::Automatic => return,
            PathMtuDiscovery::FromBase => true,
            PathMtuDiscovery::FromLargest => false,
        };
        // A limit assumed or reported before does not bound the discovery; it is a hint, which is probed.
        let allowed = self.congestion.max_datagram().unwrap_or(usize::MAX);
        let wanted = self.config.max_datagram.min(allowed) + OVERHEAD;
        let mut path_mtu = PathMtu::new(now, wanted, cautious);
        if let Some(advice) = self.outbound.early_advice.take() {
            // The hint concerns the size that was in use: the largest.
            path_mtu = PathMtu::new(now, wanted, false);
            match advice {
                // What the interface carries is known before the first packet: data begin with that size.
                EarlyAdvice::Limit(limit)
                    if !cautious && (PathMtu::BASE..wanted).contains(&limit.saturating_add(OVERHEAD)) =>
                {
                    path_mtu = PathMtu::from_hint(now, limit + OVERHEAD, wanted);
                }
                EarlyAdvice::Refused => path_mtu.on_refused(now),
                EarlyAdvice::Limit(limit) => path_mtu.on_too_big(now, limit.saturating_add(OVERHEAD)),
            }
            if path_mtu.phase() == PathMtuPhase::Complete {
                // The hint was of no use.
                path_mtu = PathMtu::new(now, wanted, cautious);
            }
        }
        self.path_mtu = Some(Box::new(path_mtu));
        self.adopt_path_mtu();
    }
    /// After a change of path, tries the size that the old path, or `known`, carried. `holds`: datagrams larger than
    /// what almost every path carries wait meanwhile.
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
    /// The peer now uses the new path: probes answered on the old one may have been lost.
    pub(super) fn retry_path_mtu(&mut self, now: Instant) {
        let rtt = self.rtt.or_default();
        if let Some(path_mtu) = &mut self.path_mtu {
            self.outbound.probe = None;
            path_mtu.on_path_known(now, rtt);
            self.adopt_path_mtu();
        }
    }
    /// A valid packet arrived: after a change of path it shows that the new one works.
    #[inline]
    pub(super) fn on_sign_of_path(&mut self, now: Instant) {
        if let Some(path_mtu) = &mut self.path_mtu
            && path_mtu.on_sign(now)
        {
            self.adopt_path_mtu();
        }
    }
    /// `true` if a datagram of `size` bytes waits until the path is known to carry it.
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
    /// Runs the discovery's timer.
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
    /// Resumes the discovery after a freeze.
    pub(super) fn resume_path_mtu(&mut self, now: Instant) {
        if self.path_mtu.is_some() && !self.timers.is_running(Timer::PathMtu) {
            self.timers.set(Timer::PathMtu, now);
        }
    }
    /// Creates the pending probe, if congestion control permits a packet.
    pub(super) fn path_probe(&mut self, now: Instant) -> Option<Transmit> {
        let (size, is_vital) = self.outbound.probe?;
        let path_mtu = self.path_mtu.as_mut()?;
        // RFC 8899, Section 3, item 7: probes are subject to congestion control. Probes that determine whether packets
        // of the size in use arrive at all are exempt, at one packet per second.
        let room = size.saturating_sub(OVERHEAD);
        if !is_vital && !self.congestion.may_send(now, Some(room)) {
            // The probe leaves before the next datagram; otherwise a sender that always has data would never send it.
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
    /// Processes a SyncAck.
    pub(super) fn on_probe_answered(&mut self, now: Instant, ack: SeqNo) {
        if let Some(path_mtu) = &mut self.path_mtu
            && path_mtu.on_sync_ack(now, ack)
        {
            self.adopt_path_mtu();
        }
    }
    /// Acknowledgements have been missing for a while: verifies the size in use.
    pub(super) fn suspect_path(&mut self, now: Instant) {
        if let Some(path_mtu) = &mut self.path_mtu
            && path_mtu.doubt(now, self.rtt.or_default())
        {
            self.timers.set(Timer::PathMtu, now);
        }
    }
    /// A datagram of `size` bytes is being sent.
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
