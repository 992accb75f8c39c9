//! Options of this host that the peer confirms: MP_ADDADDR, MP_REMOVEADDR, MP_PRIO (RFC 9897, Section 3.2.1).

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::{Confirmations, MultipathOption, RemoveAddress};
use whimbrel_wire::{DccpOption, SeqNo};

use super::SubflowId;

/// Interval before the first repetition, in round-trip times.
const INTERVAL_IN_RTT: u64 = 2;
/// Bounds of the interval.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
const MAX_INTERVAL: Duration = Duration::from_secs(16);
/// Repetitions after which a signal is given up.
const MAX_REPETITIONS: u32 = 12;
/// The most signals that wait for a confirmation. The oldest is given up for a further one.
const MAX_SIGNALS: usize = 32;
/// The most signals of one packet, so that its header has room for all.
pub(super) const MAX_PER_PACKET: usize = 8;
/// Numbers under which a signal was last sent: a confirmation names one of them.
const NUMBERS: usize = 4;

/// The information that a signal is about: a newer signal of the same dataset replaces an older one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dataset {
    /// An address of this host.
    Address(u8),
    /// The priority of a subflow.
    Priority(SubflowId),
}

/// An option that the peer has not confirmed.
#[derive(Debug)]
struct Signal {
    dataset: Dataset,
    option: DccpOption,
    code: Option<DccpOption>,
    numbers: SmallVec<[SeqNo; NUMBERS]>,
    due: Instant,
    repetitions: u32,
}

/// The signals that wait for a confirmation.
#[derive(Debug, Default)]
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    /// Adds a signal, which is sent at once. `code`: its MP_HMAC.
    pub(super) fn push(
        &mut self,
        now: Instant,
        dataset: Dataset,
        option: DccpOption,
        code: Option<DccpOption>,
    ) {
        self.0.retain(|signal| signal.dataset != dataset);
        if self.0.len() == MAX_SIGNALS {
            self.0.remove(0);
        }
        self.0.push(Signal { dataset, option, code, numbers: SmallVec::new(), due: now, repetitions: 0 });
    }

    /// Drops the signal of a subflow that has ended.
    pub(super) fn forget(&mut self, subflow: SubflowId) {
        self.0.retain(|signal| signal.dataset != Dataset::Priority(subflow));
    }

    /// Number of signals.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Time at which the next signal is due among those that can be sent: `can_send` of the subflow that must
    /// carry it.
    pub(super) fn deadline(&self, can_send: impl Fn(Option<SubflowId>) -> bool) -> Instant {
        let due = self.0.iter().filter(|signal| can_send(signal.dataset.carrier())).map(|signal| signal.due);
        due.min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// The subflow that must carry the next signal that is due, if one is due: `Some(None)` for any.
    pub(super) fn next_due(
        &self,
        now: Instant,
        can_send: impl Fn(Option<SubflowId>) -> bool,
    ) -> Option<Option<SubflowId>> {
        let is_due = |signal: &&Signal| signal.due <= now && can_send(signal.dataset.carrier());
        self.0.iter().find(is_due).map(|signal| signal.dataset.carrier())
    }

    /// Returns the options of signals that are due and may leave on that subflow, at most `most` signals, in
    /// a packet with that number of the multipath connection.
    pub(super) fn take_due(
        &mut self,
        now: Instant,
        subflow: SubflowId,
        sequence: SeqNo,
        rtt: Duration,
        most: usize,
    ) -> Vec<DccpOption> {
        let mut options = Vec::new();
        let mut taken = 0;
        for signal in &mut self.0 {
            let may_leave = signal.dataset.carrier().is_none_or(|carrier| carrier == subflow);
            if signal.due > now || !may_leave || taken == most {
                continue;
            }
            taken += 1;
            if signal.numbers.len() == NUMBERS {
                signal.numbers.remove(0);
            }
            signal.numbers.push(sequence);
            let first = (rtt * INTERVAL_IN_RTT).max(MIN_INTERVAL);
            let interval = first * (1_u64 << signal.repetitions.min(16));
            signal.due = now + interval.min(MAX_INTERVAL);
            signal.repetitions += 1;
            options.push(signal.option.clone());
            options.extend(signal.code.clone());
        }
        self.0.retain(|signal| signal.repetitions <= MAX_REPETITIONS);
        options
    }

    /// Processes the peer's confirmations. Returns the IDs of the addresses whose removal is confirmed.
    pub(super) fn on_confirm(&mut self, list: &Confirmations) -> SmallVec<[u8; 2]> {
        let mut removed = SmallVec::new();
        for (sequence, option) in list.iter() {
            let is_meant = |signal: &Signal| signal.option == option && signal.numbers.contains(&sequence);
            if !self.0.iter().any(is_meant) {
                continue;
            }
            self.0.retain(|signal| !is_meant(signal));
            if let Some(MultipathOption::RemoveAddress(RemoveAddress { address_id, .. })) =
                MultipathOption::parse(&option)
            {
                removed.push(address_id);
            }
        }
        removed
    }
}

impl Dataset {
    /// The subflow that must carry the signal; `None`: any.
    fn carrier(self) -> Option<SubflowId> {
        match self {
            Self::Address(_) => None,
            Self::Priority(subflow) => Some(subflow),
        }
    }
}
