//! Signals of the peer: their order, and their confirmations (RFC 9897, Section 3.2.1).

use std::collections::VecDeque;

use whimbrel_wire::option::multipath::{Confirmations, MultipathOption};
use whimbrel_wire::{DccpOption, SeqNo};

use super::SubflowId;
use super::signals::Dataset;

/// The most datasets of which the newest number is remembered: all addresses and all subflows of a reasonable
/// peer.
const MAX_DATASETS: usize = 64;
/// The most confirmations that wait for a packet. The oldest is dropped for a further one: the peer repeats
/// its option.
pub(super) const MAX_CONFIRMATIONS: usize = 8;

/// The order of the peer's signals, and the confirmations to send.
#[derive(Debug, Default)]
pub(super) struct InboundSignals {
    /// The newest number of each dataset, the least recently changed dataset first.
    newest: VecDeque<(Dataset, SeqNo)>,
    /// Signals to confirm, the newest first.
    confirmations: VecDeque<Confirmation>,
}

/// A signal to confirm.
#[derive(Debug)]
struct Confirmation {
    sequence: SeqNo,
    option: DccpOption,
    /// The subflow that must carry the confirmation; `None`: any.
    carrier: Option<SubflowId>,
}

/// The age of a received signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// A newer one of the same dataset was processed before.
    Outdated,
    /// The signal is the newest of a known dataset.
    Newer,
    /// The dataset is unknown.
    First,
}

impl InboundSignals {
    /// The age of a signal in a packet with that number. `Newer` and `First` signals become the newest.
    pub(super) fn on_signal(&mut self, dataset: Dataset, sequence: SeqNo) -> Age {
        let known = self.newest.iter().position(|(known, _)| *known == dataset);
        let age = match known.and_then(|place| self.newest.remove(place)) {
            Some((_, newest)) if !sequence.is_after(newest) => {
                self.newest.push_back((dataset, newest));
                return Age::Outdated;
            }
            Some(_) => Age::Newer,
            None => Age::First,
        };
        if self.newest.len() == MAX_DATASETS {
            self.newest.pop_front();
        }
        self.newest.push_back((dataset, sequence));
        age
    }

    /// Confirms a signal with the next packet, on the subflow `carrier` if there is one.
    pub(super) fn confirm(&mut self, sequence: SeqNo, option: &DccpOption, carrier: Option<SubflowId>) {
        self.confirmations.push_front(Confirmation { sequence, option: option.clone(), carrier });
        self.confirmations.truncate(MAX_CONFIRMATIONS);
    }

    /// The subflow that must carry the next confirmation, if one is pending: `Some(None)` for any.
    pub(super) fn next_carrier(&self) -> Option<Option<SubflowId>> {
        self.confirmations.front().map(|confirmation| confirmation.carrier)
    }

    /// Drops the confirmations that a subflow must carry, as it has ended.
    pub(super) fn forget(&mut self, subflow: SubflowId) {
        self.confirmations.retain(|confirmation| confirmation.carrier != Some(subflow));
    }

    /// Returns confirmations that may leave on that subflow as an option, at most `most`.
    pub(super) fn take_confirmation(&mut self, subflow: SubflowId, most: usize) -> Option<DccpOption> {
        let mut list = Confirmations::new();
        for _ in 0..most {
            let next = self.confirmations.front();
            let may_leave = |it: &&Confirmation| it.carrier.is_none_or(|carrier| carrier == subflow);
            if !next.filter(may_leave).is_some_and(|it| list.push(it.sequence, &it.option)) {
                break;
            }
            self.confirmations.pop_front();
        }
        // A signal that does not fit into an empty list does not exist: the largest has 26 bytes.
        (!list.is_empty()).then(|| MultipathOption::Confirm(list).into())
    }

    /// Number of remembered datasets and pending confirmations.
    pub(super) fn len(&self) -> usize {
        self.newest.len() + self.confirmations.len()
    }
}
