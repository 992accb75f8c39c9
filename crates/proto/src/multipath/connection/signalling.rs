//! Addresses, priorities, and their confirmations (RFC 9897, Sections 3.2.1 and 3.2.8 to 3.2.10).

use core::net::IpAddr;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::{
    AddAddress, Confirmations, MultipathOption, PathPriority, RemoveAddress,
};
use whimbrel_wire::{DccpOption, Options, SeqNo};

use super::JoinError;
use super::context::{Context, Effects, Phase};
use crate::multipath::addresses::{Addresses, Announcement};
use crate::multipath::inbound_signals::{Age, InboundSignals, MAX_CONFIRMATIONS};
use crate::multipath::keys::{Code, Host, Keys, is_equal};
use crate::multipath::signals::{Dataset, MAX_PER_PACKET, Signals};
use crate::multipath::subflow::Subflow;
use crate::multipath::{Dialect, MultipathEvent, Path, SubflowId};

/// Signals of both ends, and the addresses that they are about.
#[derive(Debug)]
pub(super) struct Signalling {
    signals: Signals,
    inbound: InboundSignals,
    pub(super) addresses: Addresses,
}

/// A signal of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'a> {
    /// The number of its packet in the multipath connection.
    pub(super) sequence: Option<SeqNo>,
    /// The option.
    pub(super) option: &'a DccpOption,
    /// The MP_HMAC that follows.
    pub(super) code: Option<Code>,
}

/// An address of the peer that subflows may no longer use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removed {
    pub(super) address_id: u8,
    was_known: bool,
}

impl Signalling {
    pub(super) fn new(path: Path, limit: usize) -> Self {
        Self {
            signals: Signals::default(),
            inbound: InboundSignals::default(),
            addresses: Addresses::new(path.local.ip(), path.remote.ip(), limit),
        }
    }

    /// Number of signals that the peer has not confirmed.
    pub(super) fn unconfirmed(&self) -> usize {
        self.signals.len()
    }

    /// Number of remembered addresses, datasets and confirmations.
    pub(super) fn remembered(&self) -> usize {
        self.addresses.len() + self.inbound.len()
    }

    /// A subflow has ended.
    pub(super) fn forget(&mut self, subflow: SubflowId) {
        self.signals.forget(subflow);
    }

    /// Announces an address of this host, and returns its ID.
    pub(super) fn announce(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        address: IpAddr,
        port: Option<u16>,
    ) -> Result<u8, JoinError> {
        if cx.phase != Phase::Multipath {
            return Err(JoinError::NotReady);
        }
        let address_id = self.addresses.own_id(address).ok_or(JoinError::NoAddressId)?;
        let address = cx.settings.dialect.converted(address);
        let option = AddAddress { address_id, nonce: nonce(cx, fx), address, port };
        let code = cx.identity.keys.as_ref().map(|keys| keys.address_code(Host::Own, &option));
        let option = MultipathOption::AddAddress(option).into();
        self.signals.push(now, Dataset::Address(address_id), option, code.map(hmac));
        Ok(address_id)
    }

    /// Withdraws an address of this host, and returns its ID, if it has one.
    pub(super) fn withdraw(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        address: IpAddr,
    ) -> Option<u8> {
        let address_id = self.addresses.known_own_id(address).filter(|_| cx.phase == Phase::Multipath)?;
        let option = RemoveAddress { address_id, nonce: nonce(cx, fx) };
        let code = cx.identity.keys.as_ref().map(|keys| keys.removal_code(Host::Own, &option));
        let option = MultipathOption::RemoveAddress(option).into();
        self.signals.push(now, Dataset::Address(address_id), option, code.map(hmac));
        self.addresses.withdraw_own(address_id);
        Some(address_id)
    }

    /// Notifies the peer of the priority of a subflow.
    pub(super) fn signal_priority(&mut self, now: Instant, cx: &Context, subflow: &Subflow) {
        if cx.is_multipath() {
            let option = MultipathOption::Priority(subflow.own_priority).into();
            self.signals.push(now, Dataset::Priority(subflow.id), option, None);
        }
    }

    /// Processes MP_CONFIRM.
    pub(super) fn on_confirm(&mut self, subflows: &[Subflow], list: &Confirmations) {
        for address in self.signals.on_confirm(list) {
            // Section 3.2.9: the ID is free once the removal is confirmed.
            if !subflows.iter().any(|it| it.own_address == address && !it.is_over()) {
                self.addresses.release_own(address);
            }
        }
    }

    /// Processes MP_ADDADDR on an established subflow. An option without the right code, or that contradicts
    /// an earlier one, is ignored silently.
    pub(super) fn on_add_address(
        &mut self,
        cx: &Context,
        fx: &mut Effects,
        received: Received<'_>,
        address: &AddAddress,
    ) {
        let code = |keys: &Keys| keys.address_code(Host::Peer, address);
        let Some(sequence) = received.authentic(cx, address.nonce, code) else { return };
        let AddAddress { address_id, address, port, .. } = *address;
        let address = cx.settings.dialect.converted(address);
        if self.inbound.on_signal(Dataset::Address(address_id), sequence) == Age::Outdated {
            return;
        }
        match self.addresses.announce(address_id, address) {
            Announcement::Invalid => return,
            Announcement::Discarded => {}
            Announcement::New | Announcement::Known => {
                fx.events.on_address(address_id, MultipathEvent::AddressAdded { address_id, address, port });
            }
        }
        self.inbound.confirm(sequence, received.option, None);
    }

    /// Processes MP_REMOVEADDR on an established subflow. Returns the address whose subflows are to be
    /// closed;
    /// [`Signalling::removed`] follows.
    pub(super) fn on_remove_address(
        &mut self,
        cx: &Context,
        subflows: &[Subflow],
        received: Received<'_>,
        removal: RemoveAddress,
    ) -> Option<Removed> {
        let code = |keys: &Keys| keys.removal_code(Host::Peer, &removal);
        let sequence = received.authentic(cx, removal.nonce, code)?;
        let address_id = removal.address_id;
        let age = self.inbound.on_signal(Dataset::Address(address_id), sequence);
        let is_used = subflows.iter().any(|it| it.peer_address == address_id && !it.is_over());
        let was_known = self.addresses.remove(address_id) || is_used;
        match age {
            Age::Outdated => None,
            // An unknown address: the request is ignored (Section 3.2.9). A repetition of one that was
            // processed, whose confirmation was lost, is confirmed again.
            Age::First if !was_known => None,
            _ => Some(Removed { address_id, was_known }),
        }
    }

    /// The subflows of an address of the peer are being closed.
    pub(super) fn removed(&mut self, fx: &mut Effects, received: Received<'_>, removed: Removed) {
        let Removed { address_id, was_known } = removed;
        if was_known {
            fx.events.on_address(address_id, MultipathEvent::AddressRemoved { address_id });
        }
        if let Some(sequence) = received.sequence {
            self.inbound.confirm(sequence, received.option, None);
        }
    }

    /// Processes MP_PRIO, which is about the established subflow that carries it.
    pub(super) fn on_priority(
        &mut self,
        cx: &Context,
        fx: &mut Effects,
        subflow: &mut Subflow,
        received: Received<'_>,
        priority: PathPriority,
    ) {
        let Some(sequence) = received.sequence else { return };
        let id = subflow.id;
        if self.inbound.on_signal(Dataset::Priority(id), sequence) == Age::Outdated {
            return;
        }
        if subflow.peer_priority != priority {
            subflow.peer_priority = priority;
            fx.events.on_priority(id, MultipathEvent::PriorityChanged { subflow: id, priority });
        }
        let carrier = (cx.settings.dialect == Dialect::Draft2024).then_some(id);
        self.inbound.confirm(sequence, received.option, carrier);
    }

    /// Time at which the next signal that can be sent is due.
    pub(super) fn deadline(&self, cx: &Context, subflows: &[Subflow]) -> Instant {
        self.signals.deadline(|carrier| can_signal(cx, subflows, carrier))
    }

    /// The place of the subflow that signals or confirmations which are due leave on.
    pub(super) fn next_carrier(&mut self, now: Instant, cx: &Context, subflows: &[Subflow]) -> Option<usize> {
        let can_signal = |carrier| can_signal(cx, subflows, carrier);
        while let Some(Some(gone)) = self.inbound.next_carrier().filter(|carrier| !can_signal(*carrier)) {
            self.inbound.forget(gone);
        }
        let due = self.signals.next_due(now, can_signal);
        let carrier = match (self.inbound.next_carrier(), due) {
            (None, None) => return None,
            (confirmation, signal) => confirmation.flatten().or(signal.flatten()),
        };
        let mut open = subflows.iter().enumerate().filter(|(_, subflow)| subflow.is_open());
        let place = match carrier {
            Some(id) => open.find(|(_, subflow)| subflow.id == id),
            // Any: an answering one of the least round-trip time.
            None => open.min_by_key(|(_, it)| (!it.watch.is_alive(), it.connection.rtt_estimate())),
        };
        place.map(|(place, _)| place)
    }

    /// The options that are due and may leave on that subflow.
    pub(super) fn take_due(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        id: SubflowId,
        rtt: Duration,
    ) -> Options {
        let (dialect, number) = (cx.settings.dialect, fx.sending.next_number());
        let mut options = Options::new();
        options.extend(self.inbound.take_confirmation(id, dialect.at_most(MAX_CONFIRMATIONS)));
        let signals = self.signals.take_due(now, id, number, rtt, dialect.at_most(MAX_PER_PACKET));
        if !signals.is_empty() {
            options.push(MultipathOption::Sequence(number).into());
            options.extend(signals);
            fx.sending.number();
        }
        options
    }
}

impl Received<'_> {
    /// The number of its packet, if its code is the right one, and its form belongs to the version in use.
    fn authentic(&self, cx: &Context, nonce: Option<u32>, expected: impl Fn(&Keys) -> Code) -> Option<SeqNo> {
        let expected = cx.identity.keys.as_ref().map(expected);
        let is_right = self.code.zip(expected).is_some_and(|(code, expected)| is_equal(&code, &expected));
        self.sequence.filter(|_| is_right && cx.is_right_form(nonce))
    }
}

/// `true` if a signal can be sent now: on the subflow that must carry it, or on any. None is once the
/// connection has ended, although a subflow may still wait for its end.
fn can_signal(cx: &Context, subflows: &[Subflow], carrier: Option<SubflowId>) -> bool {
    let is_meant = |subflow: &Subflow| carrier.is_none_or(|id| id == subflow.id);
    cx.is_multipath() && !cx.is_over() && subflows.iter().any(|it| is_meant(it) && it.is_open())
}

fn nonce(cx: &Context, fx: &mut Effects) -> Option<u32> {
    (cx.settings.dialect == Dialect::Rfc9897).then(|| fx.entropy.word())
}

fn hmac(code: Code) -> DccpOption {
    MultipathOption::Hmac(code).into()
}
