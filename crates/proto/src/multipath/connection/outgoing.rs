//! Transmission: the packets of the subflows, signals, and the paths of datagrams.

use smallvec::SmallVec;
use whimbrel_control::multipath::{MAX_PATHS, PathView};
use whimbrel_units::Instant;
use whimbrel_wire::option::multipath::{MultipathOption, RttKind, RttReport};
use whimbrel_wire::{DccpOption, Options};

use super::MultipathConnection;
use super::context::{ClosingStep, Phase};
use crate::multipath::sending::Staged;
use crate::multipath::{Path, SubflowId};
use crate::{Datagram, Transmit};

impl MultipathConnection {
    /// Returns the next packet: the subflows' first, then signals and confirmations, then datagrams.
    pub(super) fn next_transmit(&mut self, now: Instant) -> Option<(Path, Transmit)> {
        self.begin_closing(now);
        for index in 0..self.subflows.len() {
            if let Some(transmit) = self.poll_subflow(now, index) {
                return Some(transmit);
            }
        }
        if let Some(index) = self.stage_signals(now)
            && let Some(transmit) = self.poll_subflow(now, index)
        {
            return Some(transmit);
        }
        while self.stage_datagram(now) {
            for index in 0..self.subflows.len() {
                if self.subflows[index].staged.is_some()
                    && let Some(transmit) = self.poll_subflow(now, index)
                {
                    return Some(transmit);
                }
            }
        }
        self.begin_closing(now);
        (0..self.subflows.len()).find_map(|index| self.poll_subflow(now, index))
    }

    /// Returns the next packet of a subflow.
    fn poll_subflow(&mut self, now: Instant, index: usize) -> Option<(Path, Transmit)> {
        let has_more = !self.fx.sending.is_empty();
        let rtt = self.rtt_report(now, index);
        let subflow = &mut self.subflows[index];
        if let Some(out) = subflow.connection.multipath_options() {
            out.sequence = subflow.staged.as_ref().and_then(|staged| staged.sequence);
            out.has_more = has_more;
            if let Some(rtt) = rtt {
                out.with_ack = Options::from_iter([rtt]);
                subflow.rtt_reported = Some(now);
            }
        }
        let transmit = subflow.connection.poll_transmit(now);
        let path = subflow.path;
        self.collect(now, index, None);
        transmit.map(|transmit| (path, transmit))
    }

    /// The MP_RTT that is due on the next acknowledgement.
    fn rtt_report(&self, now: Instant, index: usize) -> Option<DccpOption> {
        let interval = self.cx.settings.rtt_interval?;
        let subflow = &self.subflows[index];
        let is_due = subflow.rtt_reported.is_none_or(|reported| now - reported >= interval);
        if !self.cx.is_multipath() || !subflow.is_open() || !is_due {
            return None;
        }
        let rtt_millis = u32::try_from(subflow.connection.rtt_estimate()?.as_millis()).unwrap_or(u32::MAX);
        let report = RttReport { kind: RttKind::Smoothed, rtt_millis, age_millis: 0 };
        Some(MultipathOption::Rtt(report).into())
    }

    /// Puts signals or confirmations that are due on the next Ack of a subflow, and returns its place.
    fn stage_signals(&mut self, now: Instant) -> Option<usize> {
        if !self.cx.is_multipath() || self.cx.is_over() {
            return None;
        }
        let index = self.signalling.next_carrier(now, &self.cx, &self.subflows)?;
        let (id, rtt) = (self.subflows[index].id, self.subflows.rtt(index));
        let options = self.signalling.take_due(now, &self.cx, &mut self.fx, id, rtt);
        if options.is_empty() {
            return None;
        }
        self.subflows[index].connection.multipath_options()?.next_ack.extend(options);
        Some(index)
    }

    /// Gives the next datagram to the subflows that the scheduler chooses. Returns `false` if none can send
    /// it now.
    fn stage_datagram(&mut self, now: Instant) -> bool {
        self.fx.sending.wake = Instant::FAR_FUTURE;
        let finishes = matches!(self.cx.phase, Phase::Closing { step: ClosingStep::Finishing, .. });
        if !finishes && !matches!(self.cx.phase, Phase::Multipath | Phase::Regular) {
            return false;
        }
        let Some(size) = self.fx.sending.front_size(now) else { return false };
        let (views, places) = self.views(now, size);
        let purpose = self.fx.sending.front_purpose();
        let Some(selection) = self.scheduler.select_for(purpose, now, size, &views) else { return false };
        let Some(mut staged) = self.fx.sending.pop() else { return false };
        if self.cx.is_multipath() && staged.sequence.is_none() {
            staged.sequence = Some(self.fx.sending.number());
        }
        self.fx.sending.on_first(self.subflows[places[selection.path]].id);
        for (copy, choice) in selection.paths().take(self.fx.sending.copies()).enumerate() {
            if let Some(index) = places.get(choice) {
                self.stage(now, *index, Staged { is_copy: copy > 0, ..staged.clone() });
            }
        }
        self.fx.sending.wake = Instant::FAR_FUTURE;
        true
    }

    fn stage(&mut self, now: Instant, index: usize, staged: Staged) {
        let subflow = &mut self.subflows[index];
        let datagram = Datagram::new(staged.payload.clone());
        subflow.staged = Some(staged);
        if subflow.connection.send(now, datagram).is_err()
            && let Some(staged) = subflow.staged.take()
        {
            self.fx.sending.take_back(staged);
        }
    }

    /// The open subflows as the scheduler sees them, with their places; and the time at which congestion
    /// control of one permits the datagram.
    fn views(&mut self, now: Instant, size: usize) -> (SmallVec<[PathView; 4]>, SmallVec<[usize; 4]>) {
        let (mut views, mut places) = (SmallVec::new(), SmallVec::new());
        let is_usable = |id: &SubflowId| {
            self.subflows.iter().any(|it| it.id == *id && it.is_open() && it.watch.is_alive())
        };
        let only = self.fx.sending.opening_subflow().filter(is_usable);
        if only.is_none() && self.fx.sending.opening_subflow().is_some() {
            self.fx.sending.end_opening();
        }
        for (index, subflow) in self.subflows.iter_mut().enumerate() {
            let is_other = only.is_some_and(|only| only != subflow.id);
            if !subflow.is_open() || is_other || views.len() == MAX_PATHS {
                continue;
            }
            let is_free = subflow.staged.is_none();
            let send_time =
                if is_free { subflow.connection.send_time(now, size) } else { Instant::FAR_FUTURE };
            if send_time > now {
                self.fx.sending.wake = self.fx.sending.wake.min(send_time);
            }
            views.push(PathView {
                priority: subflow.priority().number(),
                rtt: subflow.connection.rtt_estimate(),
                is_alive: subflow.watch.is_alive(),
                may_send: send_time <= now,
                weight: subflow.shares.weight,
                cost: subflow.shares.cost,
                ..PathView::new(subflow.id.0)
            });
            places.push(index);
        }
        (views, places)
    }
}
