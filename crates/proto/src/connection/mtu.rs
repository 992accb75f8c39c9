//! The largest datagram (RFC 4340, Section 14).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

use super::context::{Context, Effects};
use super::path_mtu::{MIN, PathMtu, PathMtuPhase};
use super::timer::Timer;
use crate::config::PathMtuDiscovery;
use crate::send_queue::SendQueue;
use crate::{Config, Event};

#[cfg(test)]
mod tests;

/// Number of bytes of options that fit together with the largest datagram. With the default of 1400 bytes,
/// the longest fixed header of a DataAck (24), UDP (8) and IPv6 (40), this makes 1500.
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

/// The largest datagram, its discovery, and the pending probe.
///
/// The methods that return a size have found that datagrams of another size fit the path: the connection then
/// calls
/// [`Mtu::limit`], and passes the result to congestion control.
#[derive(Debug)]
pub(super) struct Mtu {
    /// The largest datagram that `send` accepts, in bytes.
    max_datagram: usize,
    /// Path MTU discovery; `None` unless the connection probes the path.
    discovery: Option<Box<PathMtu>>,
    /// The pending probe: its size, and whether it is exempt from congestion control.
    probe: Option<(usize, bool)>,
    /// Information about the path MTU from before the connection was open.
    early_advice: Option<EarlyAdvice>,
    /// No probes are sent.
    is_held: bool,
}

impl Mtu {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            max_datagram: config.max_datagram,
            discovery: None,
            probe: None,
            early_advice: None,
            is_held: false,
        }
    }

    /// The largest datagram that `send` accepts now, in bytes.
    pub(super) fn max_datagram(&self) -> usize {
        self.max_datagram
    }

    /// The expected size of datagrams: the next one's, or the largest.
    pub(super) fn expected_size(&self, queue: &SendQueue) -> usize {
        queue.front_len().unwrap_or(self.max_datagram)
    }

    /// Phase of the discovery; `None` if disabled.
    pub(super) fn phase(&self) -> Option<PathMtuPhase> {
        self.discovery.as_ref().map(|discovery| discovery.phase())
    }

    /// `true` if the connection discovers the path MTU.
    pub(super) fn is_discovered(&self) -> bool {
        self.discovery.is_some()
    }

    /// State of the discovery, to be stored with the path.
    pub(super) fn discovery(&self) -> Option<Box<PathMtu>> {
        self.discovery.clone()
    }

    /// Adopts `limit` as the size of datagrams, within what the configuration permits.
    /// Returns the size adopted.
    pub(super) fn limit(&mut self, cx: &Context, fx: &mut Effects, limit: usize) -> usize {
        // RFC 4340, Section 14: the lesser of what the path carries and what the congestion control allows.
        // No CCID here limits the size of packets.
        let limit = limit.clamp(1, cx.config.max_datagram);
        let was = core::mem::replace(&mut self.max_datagram, limit);
        fx.queue.drop_larger_than(limit, &mut fx.events);
        if was != limit && self.discovery.is_some() {
            fx.events.push_back(Event::MaxDatagramChanged { max_datagram: limit });
        }
        limit
    }

    /// Discards the limit of a path without discovery.
    pub(super) fn forget(&mut self, cx: &Context) {
        self.max_datagram = cx.config.max_datagram;
    }

    /// The network, or the driver, reported the largest datagram.
    #[must_use]
    pub(super) fn on_too_big(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        limit: usize,
    ) -> Option<usize> {
        if let Some(discovery) = &mut self.discovery {
            discovery.on_too_big(now, limit.saturating_add(OVERHEAD));
            self.probe = None;
            return self.adopt(fx);
        }
        let lowers = limit < cx.config.max_datagram;
        self.early_advice = lowers.then_some(EarlyAdvice::Limit(limit));
        Some(limit)
    }

    /// This host refused to send a packet for its size, without a limit.
    #[must_use]
    pub(super) fn on_refused(&mut self, now: Instant, fx: &mut Effects, assumed: usize) -> Option<usize> {
        if let Some(discovery) = &mut self.discovery {
            discovery.on_refused(now);
            self.probe = None;
            return self.adopt(fx);
        }
        self.early_advice = Some(EarlyAdvice::Refused);
        Some(assumed)
    }

    /// Starts path MTU discovery, if enabled, once the connection is open. The handshake says little about
    /// the packets that follow it (RFC 4340, Section 14.2).
    #[must_use]
    pub(super) fn start(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> Option<usize> {
        let cautious = match cx.config.path_mtu {
            PathMtuDiscovery::Off | PathMtuDiscovery::Automatic => return None,
            PathMtuDiscovery::FromBase => true,
            PathMtuDiscovery::FromLargest => false,
        };
        // A limit assumed or reported before does not bound the discovery; it is a hint, which is probed.
        let wanted = cx.config.max_datagram + OVERHEAD;
        let discovery = self.first_discovery(now, wanted, cautious);
        self.discovery = Some(Box::new(discovery));
        self.adopt(fx)
    }

    /// The discovery of sizes up to `wanted`, with the hints from before the connection was open.
    fn first_discovery(&mut self, now: Instant, wanted: usize, cautious: bool) -> PathMtu {
        let Some(advice) = self.early_advice.take() else { return PathMtu::new(now, wanted, cautious) };
        // The hint concerns the size that was in use: the largest.
        let mut discovery = PathMtu::new(now, wanted, false);
        match advice {
            // The interface's MTU is known before the first packet: data begins with that size.
            EarlyAdvice::Limit(limit)
                if !cautious && (PathMtu::BASE..wanted).contains(&limit.saturating_add(OVERHEAD)) =>
            {
                discovery = PathMtu::from_hint(now, limit + OVERHEAD, wanted);
            }
            EarlyAdvice::Refused => discovery.on_refused(now),
            EarlyAdvice::Limit(limit) => discovery.on_too_big(now, limit.saturating_add(OVERHEAD)),
        }
        // Otherwise the hint was of no use.
        let was_useful = discovery.phase() != PathMtuPhase::Complete;
        if was_useful { discovery } else { PathMtu::new(now, wanted, cautious) }
    }

    /// After a change of path, tries the size that the old path, or `known`, carried. With `holds`, datagrams
    /// that need a packet larger than the base size are queued until the size is known.
    #[must_use]
    pub(super) fn on_path_changed(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        known: Option<Box<PathMtu>>,
        holds: bool,
    ) -> Option<usize> {
        self.probe = None;
        if known.is_some() {
            self.discovery = known;
        }
        self.discovery.as_mut()?.on_path_changed(now, cx.rtt.or_default(), holds);
        self.adopt(fx)
    }

    /// The peer now uses the new path: probes answered on the old one may have been lost.
    #[must_use]
    pub(super) fn on_path_known(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> Option<usize> {
        self.discovery.as_mut()?.on_path_known(now, cx.rtt.or_default());
        self.probe = None;
        self.adopt(fx)
    }

    /// A valid packet arrived: after a change of path it shows that the new one works.
    #[inline]
    #[must_use]
    pub(super) fn on_valid_packet(&mut self, now: Instant, fx: &mut Effects) -> Option<usize> {
        if self.discovery.as_mut()?.on_sign(now) { self.adopt(fx) } else { None }
    }

    /// `true` if a datagram of `size` bytes waits until the path is known to carry it.
    #[inline]
    pub(super) fn is_on_trial(&self, size: usize) -> bool {
        let held_above = self.discovery.as_ref().and_then(|discovery| discovery.held_above());
        held_above.is_some_and(|limit| size + OVERHEAD > limit)
    }

    /// Schedules the discovery's next step. Returns its size, if it differs from the one in use.
    fn adopt(&mut self, fx: &mut Effects) -> Option<usize> {
        let discovery = self.discovery.as_ref()?;
        fx.timers.set(Timer::PathMtu, discovery.wake_at());
        let size = discovery.size() - OVERHEAD;
        (size != self.max_datagram).then_some(size)
    }

    /// Runs the discovery's timer, if packets may be sent.
    #[must_use]
    pub(super) fn on_timer(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> Option<usize> {
        let is_held = self.is_held;
        let discovery = self.discovery.as_mut().filter(|_| cx.state.may_send_data() && !is_held)?;
        discovery.on_progress(now, cx.sequence.numbers.gar());
        self.probe = discovery.handle_timeout(now);
        let size = self.adopt(fx);
        if self.probe.is_some() {
            fx.timers.stop(Timer::PathMtu);
        }
        size
    }

    /// Holds the discovery, or releases it.
    pub(super) fn hold(&mut self, now: Instant, holds: bool, fx: &mut Effects) {
        self.is_held = holds;
        if holds {
            self.probe = None;
        }
        self.resume(now, fx);
    }

    /// Resumes the discovery after a freeze.
    pub(super) fn resume(&self, now: Instant, fx: &mut Effects) {
        if !self.is_held && self.discovery.is_some() && !fx.timers.is_running(Timer::PathMtu) {
            fx.timers.set(Timer::PathMtu, now);
        }
    }

    /// The pending probe: its size, and whether it is exempt from congestion control.
    #[inline]
    pub(super) fn probe(&self) -> Option<(usize, bool)> {
        self.probe
    }

    /// Congestion control does not permit the probe yet.
    #[must_use]
    pub(super) fn postpone_probe(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> Option<usize> {
        // The probe leaves before the next datagram; otherwise a sender that always has data would never send
        // it.
        if fx.timers.is_running(Timer::PathMtu) {
            return None;
        }
        let again = cx.rtt.or_default().max(Duration::from_millis(10));
        self.discovery.as_mut()?.postpone(now + again);
        self.adopt(fx)
    }

    /// The probe, of `size` bytes, is being sent.
    #[must_use]
    pub(super) fn on_probe_sent(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        sequence: SeqNo,
        size: usize,
    ) -> Option<usize> {
        self.probe = None;
        fx.statistics.path_probes_sent += 1;
        self.discovery.as_mut()?.on_probe_sent(now, sequence, size, cx.rtt.or_default());
        self.adopt(fx)
    }

    /// Processes a SyncAck.
    #[must_use]
    pub(super) fn on_sync_ack(&mut self, now: Instant, fx: &mut Effects, ack: SeqNo) -> Option<usize> {
        if self.discovery.as_mut()?.on_sync_ack(now, ack) { self.adopt(fx) } else { None }
    }

    /// Acknowledgements have been missing for a while: verifies the size in use.
    pub(super) fn suspect(&mut self, now: Instant, cx: &Context, fx: &mut Effects) {
        if let Some(discovery) = &mut self.discovery
            && discovery.doubt(now, cx.rtt.or_default())
        {
            fx.timers.set(Timer::PathMtu, now);
        }
    }

    /// A datagram of `size` bytes is being sent.
    #[inline]
    pub(super) fn on_datagram_sent(&mut self, now: Instant, cx: &Context, fx: &mut Effects, size: usize) {
        if let Some(discovery) = &mut self.discovery
            && size + OVERHEAD > MIN
            && discovery.on_large_sent(now, cx.sequence.numbers.gar(), cx.rtt.or_default())
        {
            fx.timers.set(Timer::PathMtu, now);
        }
    }
}
