//! Reports of the network and of this host that a packet was too large.

use whimbrel_units::Instant;

use super::{ERROR_TIME, MAX_PROBES, PathMtu, PathMtuPhase, RESTART_TIME};

impl PathMtu {
    /// The network, or this host, reported that `limit` bytes are the most. The report may be forged, even by
    /// an attacker on the path, so a limit below the base size counts only if the base size does not arrive,
    /// and an accepted limit is probed. `limit` at or above the largest size needed requests a new search.
    pub(crate) fn on_too_big(&mut self, now: Instant, limit: usize) {
        match self.probe {
            _ if limit < self.base() && limit >= self.least() => self.on_narrow(now, limit),
            // RFC 8899, Section 4.6.2: the probe was too large.
            Some(probe)
                if self.phase == PathMtuPhase::Searching && limit < probe.size && limit >= self.size =>
            {
                (self.probe, self.lost, self.is_hopeful) = (None, 0, true);
                self.ceiling = limit;
                self.search(now);
            }
            _ if limit < self.size && limit >= self.base() => {
                (self.probe, self.lost, self.is_hopeful) = (None, 0, true);
                self.ceiling = limit;
                self.fall_back();
                self.wake_at = now;
            }
            _ if limit >= self.max && self.size < self.max && self.may_restart(now) => {
                self.restarted_at = Some(now);
                (self.probe, self.lost, self.ceiling) = (None, 0, self.max);
                (self.is_hopeful, self.interrupted) = (true, None);
                if self.phase == PathMtuPhase::Complete {
                    self.search(now);
                }
            }
            _ => {}
        }
    }

    /// The network reported a limit below the base size.
    fn on_narrow(&mut self, now: Instant, limit: usize) {
        match self.phase {
            // A path whose MTU has dropped still carries the least size, which is used until the limit is
            // confirmed.
            PathMtuPhase::Error if limit < self.size => {
                self.named = Some(limit);
                self.probe = None;
                self.enter_error(now, self.least(), limit, false);
            }
            PathMtuPhase::Error => {
                if limit > self.size {
                    self.below_base.on_named(limit);
                    (self.probe, self.wake_at) = (None, now);
                }
            }
            // One more probe of the base size decides.
            PathMtuPhase::Base => {
                if self.trial.is_some() {
                    self.fall_back();
                    self.wake_at = now;
                }
                self.named = Some(limit);
                self.lost = MAX_PROBES - 1;
            }
            PathMtuPhase::Searching | PathMtuPhase::Complete => {
                if self.may_restart(now) {
                    (self.restarted_at, self.named) = (Some(now), Some(limit));
                    (self.probe, self.is_hopeful) = (None, true);
                    self.fall_back();
                    (self.lost, self.wake_at) = (MAX_PROBES - 1, now);
                }
            }
        }
    }

    /// This host refused to send a packet because of its size, without reporting a limit. That is reliable:
    /// it is no outage.
    pub(crate) fn on_refused(&mut self, now: Instant) {
        let probe = self.probe.take();
        (self.lost, self.suspected_at, self.asks_least) = (0, None, false);
        if self.trial.is_some() && self.size > self.base() {
            (self.ceiling, self.is_hopeful) = (self.size - 1, false);
            self.fall_back();
            self.wake_at = now;
            return;
        }
        self.trial = None;
        match (self.phase, probe) {
            // The refused packet is the one of the untested size.
            (PathMtuPhase::Searching, Some(probe)) => self.on_unsupported(now, probe.size),
            (PathMtuPhase::Complete | PathMtuPhase::Searching, _) if self.size > self.base() => {
                (self.ceiling, self.is_hopeful) = (self.size - 1, false);
                self.fall_back();
                self.wake_at = now;
            }
            // The host would refuse the least size again at once.
            (PathMtuPhase::Error, Some(probe)) if probe.size <= self.least() => {
                self.base_at = now + ERROR_TIME;
                self.wake_at = self.base_at;
            }
            // Likewise for the base size.
            (PathMtuPhase::Error, Some(probe)) if probe.size >= self.base() => {
                self.base_at = now + ERROR_TIME;
                self.below_base.on_base_lost();
                self.wake_at = now;
            }
            (PathMtuPhase::Error, Some(probe)) if probe.size > self.size => {
                self.below_base.refuse(probe.size);
                self.wake_at = now;
            }
            // Either the base size is refused, or the size below it that worked before.
            (phase, _) => {
                let ceiling = if phase == PathMtuPhase::Error { self.size } else { self.base() } - 1;
                self.base_at = now + ERROR_TIME;
                self.enter_error(now, self.least(), ceiling, false);
            }
        }
    }

    fn may_restart(&self, now: Instant) -> bool {
        self.restarted_at.is_none_or(|last| now - last >= RESTART_TIME)
    }
}
