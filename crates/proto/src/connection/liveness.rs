//! Detection of a silent peer and of the end of an outage, and keep-alives.
//!
//! Packets do not restart the timers, which are checked against the time of the last packet when they expire.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

use super::context::{Context, Effects};
use super::timer::Timer;

/// Divisor of the idle limit that gives the time of silence after which the peer is sent Syncs.
const IDLE_PROBE_FRACTION: u64 = 2;
/// Divisor of the idle limit that gives the interval of these Syncs: four of them, or their answers, may be
/// lost.
const IDLE_PROBES: u64 = 8;

/// Divisor of the length of an outage that gives the interval of the Syncs that ask for its end: the wait
/// for the next one adds a thirtieth at most.
const OUTAGE_PROBE_FRACTION: u64 = 32;
/// The least such interval: a frame of video at 40 frames/s, or a fraction of the round-trip time.
const LEAST_OUTAGE_PROBE: Duration = Duration::from_millis(25);
const OUTAGE_PROBES_PER_RTT: u64 = 4;

/// State of the keep-alives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    /// Sequence number of the last packet sent, at the last keep-alive check.
    last_kept_alive: Option<SeqNo>,
    /// Time of the last datagram, if silences count as outages.
    last_data: Option<Instant>,
}

impl Liveness {
    /// Starts the timers, once the connection is announced to the application.
    pub(super) fn start(now: Instant, cx: &Context, fx: &mut Effects) {
        if let Some(idle) = cx.config.timers.idle {
            fx.timers.set(Timer::Idle, now + idle / IDLE_PROBE_FRACTION);
        }
        if let Some(interval) = cx.config.timers.keep_alive {
            fx.timers.set(Timer::KeepAlive, now + interval / 2);
        }
    }

    /// Restarts the idle timer at the end of a freeze. Returns `true` if it was running: the peer's silence
    /// counts from now.
    #[must_use]
    pub(super) fn restart(now: Instant, cx: &Context, fx: &mut Effects) -> bool {
        let idle = cx.config.timers.idle.filter(|_| fx.timers.is_running(Timer::Idle));
        if let Some(idle) = idle {
            fx.timers.set(Timer::Idle, now + idle / IDLE_PROBE_FRACTION);
        }
        idle.is_some()
    }

    /// Checks twice per interval whether a packet was sent since the last check. `is_quiet`: this end sends
    /// nothing unsolicited.
    pub(super) fn keep_alive(&mut self, now: Instant, cx: &Context, fx: &mut Effects, is_quiet: bool) {
        let Some(interval) = cx.config.timers.keep_alive.filter(|_| cx.state.may_send_data()) else {
            return;
        };
        let gss = cx.sequence.numbers.gss();
        if self.last_kept_alive == Some(gss) && !is_quiet {
            fx.outbound.request_ack();
        }
        self.last_kept_alive = Some(gss);
        fx.timers.set(Timer::KeepAlive, now + interval / 2);
    }

    /// Data was sent: if nothing comes back for the time that counts as an outage, the path is probed.
    #[inline]
    pub(super) fn watch_for_outage(&mut self, now: Instant, cx: &Context, fx: &mut Effects) {
        let Some(silence) = cx.config.freeze.silence else { return };
        self.last_data = Some(now);
        if !fx.timers.is_running(Timer::Outage) {
            fx.timers.set(Timer::Outage, now + silence.duration(cx.rtt.or_default()));
        }
    }

    /// Sends a Sync in an outage, by whose answer the sender learns that the path has returned: the rate of
    /// data is halved again and again, so that the next datagram may leave a second later. `is_quiet`: this
    /// end sends nothing unsolicited. The watch ends if the peer was heard since the last datagram, until
    /// there is another.
    pub(super) fn check_outage(&self, now: Instant, cx: &Context, fx: &mut Effects, is_quiet: bool) {
        let (Some(silence), Some(last)) = (cx.config.freeze.silence, cx.sequence.last_valid()) else {
            return;
        };
        let (rtt, silent) = (cx.rtt.or_default(), now - last);
        if is_quiet || !cx.state.may_send_data() {
            return;
        }
        let limit = silence.duration(rtt);
        if silent < limit {
            // An acknowledgement lets data leave at the instant of its arrival.
            if self.last_data.is_some_and(|sent| sent >= last) {
                fx.timers.set(Timer::Outage, last + limit);
            }
            return;
        }
        fx.outbound.syncs().ask(cx.sequence.numbers.gsr());
        let least = LEAST_OUTAGE_PROBE.max(rtt / OUTAGE_PROBES_PER_RTT);
        fx.timers.set(Timer::Outage, now + least.max(silent / OUTAGE_PROBE_FRACTION));
    }

    /// Checks how long the peer has been silent: sends Syncs from half of the idle limit on, unless the
    /// connection is frozen. Returns `true` at the limit: the connection ends.
    #[must_use]
    pub(super) fn check_idle(now: Instant, cx: &Context, fx: &mut Effects, is_frozen: bool) -> bool {
        let (Some(idle), Some(last)) = (cx.config.timers.idle, cx.sequence.last_valid()) else {
            return false;
        };
        let (ask_from, end) = (last + idle / IDLE_PROBE_FRACTION, last + idle);
        let next = if is_frozen {
            now + idle
        } else if end <= now {
            return true;
        } else if ask_from > now {
            ask_from
        } else {
            fx.outbound.syncs().ask(cx.sequence.numbers.gsr());
            end.min(now + (idle / IDLE_PROBES).max(Duration::from_nanos(1)))
        };
        fx.timers.set(Timer::Idle, next);
        false
    }
}
