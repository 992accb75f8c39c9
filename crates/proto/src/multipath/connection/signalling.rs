//! Addresses, priorities, and their confirmations (RFC 9897, Sections 3.2.1 and 3.2.8 to 3.2.10).

use core::net::IpAddr;

use whimbrel_units::Instant;
use whimbrel_wire::option::multipath::{
    AddAddress, Confirmations, MultipathOption, PathPriority, RemoveAddress,
};
use whimbrel_wire::{DccpOption, SeqNo};

use super::{JoinError, MultipathConnection, Phase};
use crate::Connection;
use crate::multipath::addresses::Announcement;
use crate::multipath::inbound_signals::Age;
use crate::multipath::keys::{Code, Host, is_equal};
use crate::multipath::signals::Dataset;
use crate::multipath::subflow::Shares;
use crate::multipath::{Dialect, MultipathEvent, SubflowId};

impl MultipathConnection {
    /// Announces an address at which this host accepts subflows. Announcing it again may change the port, and requests
    /// the peer to try again. Returns its Address ID.
    ///
    /// # Errors
    ///
    /// There is no multipath connection, or all Address IDs are in use.
    pub fn announce_address(
        &mut self,
        now: Instant,
        address: IpAddr,
        port: Option<u16>,
    ) -> Result<u8, JoinError> {
        if self.phase != Phase::Multipath {
            return Err(JoinError::NotReady);
        }
        let address_id = self.addresses.own_id(address).ok_or(JoinError::NoAddressId)?;
        let nonce = self.nonce();
        let address = self.settings.dialect.converted(address);
        let option = AddAddress { address_id, nonce, address, port };
        let code = self.identity.keys.as_ref().map(|keys| keys.address_code(Host::Own, &option));
        let option = MultipathOption::AddAddress(option).into();
        self.signals.push(now, Dataset::Address(address_id), option, code.map(hmac));
        Ok(address_id)
    }
    /// Withdraws an address of this host, and closes its subflows in order. Returns `false` if it has no Address ID.
    pub fn remove_address(&mut self, now: Instant, address: IpAddr) -> bool {
        // Section 3.2.9: the closing procedure is tried, although the address may not work any longer.
        self.withdraw(now, address, |connection, now| connection.close(now))
    }
    /// Withdraws an address that this host has lost, and ends its subflows without a packet. As long as there is no
    /// other subflow, the connection waits for one to join. Returns `false` if it has no Address ID.
    pub fn lose_address(&mut self, now: Instant, address: IpAddr) -> bool {
        self.withdraw(now, address, |connection, _| connection.replace())
    }
    fn withdraw(&mut self, now: Instant, address: IpAddr, end: impl Fn(&mut Connection, Instant)) -> bool {
        let id = self.addresses.known_own_id(address);
        let Some(address_id) = id.filter(|_| self.phase == Phase::Multipath) else { return false };
        let option = RemoveAddress { address_id, nonce: self.nonce() };
        let code = self.identity.keys.as_ref().map(|keys| keys.removal_code(Host::Own, &option));
        let option = MultipathOption::RemoveAddress(option).into();
        self.signals.push(now, Dataset::Address(address_id), option, code.map(hmac));
        self.addresses.withdraw_own(address_id);
        for index in 0..self.subflows.len() {
            if self.subflows[index].own_address == address_id && !self.subflows[index].is_over() {
                end(&mut self.subflows[index].connection, now);
                self.collect(now, index, None);
            }
        }
        true
    }
    /// Sets the priority of a subflow, for data of both directions: the peer is notified. Returns `false` if the subflow
    /// does not exist.
    pub fn set_priority(&mut self, now: Instant, subflow: SubflowId, priority: PathPriority) -> bool {
        let Some(index) = self.index(subflow) else { return false };
        self.subflows[index].own_priority = priority;
        if self.subflows[index].is_established() {
            self.signal_priority(now, index, priority);
        }
        true
    }
    /// Sets a subflow's share under [`Weighted`](whimbrel_control::multipath::Weighted) and its cost under
    /// [`CheapestFirst`](whimbrel_control::multipath::CheapestFirst). Returns `false` if the subflow does not exist.
    pub fn set_shares(&mut self, subflow: SubflowId, weight: u32, cost: u32) -> bool {
        let index = self.index(subflow);
        if let Some(index) = index {
            self.subflows[index].shares = Shares { weight, cost };
        }
        index.is_some()
    }
    pub(super) fn signal_priority(&mut self, now: Instant, index: usize, priority: PathPriority) {
        if self.is_multipath() {
            let dataset = Dataset::Priority(self.subflows[index].id);
            self.signals.push(now, dataset, MultipathOption::Priority(priority).into(), None);
        }
    }
    fn nonce(&mut self) -> Option<u32> {
        (self.settings.dialect == Dialect::Rfc9897).then(|| self.entropy.word())
    }
    /// `true` if an option has the form of the version in use.
    fn is_right_form(&self, nonce: Option<u32>) -> bool {
        nonce.is_some() == (self.settings.dialect == Dialect::Rfc9897)
    }

    pub(super) fn on_confirm(&mut self, list: &Confirmations) {
        for address in self.signals.on_confirm(list) {
            // Section 3.2.9: the ID is free once the removal is confirmed.
            let is_used = self.subflows.iter().any(|it| it.own_address == address && !it.is_over());
            if !is_used {
                self.addresses.release_own(address);
            }
        }
    }
    /// Processes MP_ADDADDR. An option without the right code, or that contradicts an earlier one, is ignored silently.
    pub(super) fn on_add_address(
        &mut self,
        index: usize,
        sequence: Option<SeqNo>,
        option: &DccpOption,
        address: &AddAddress,
        code: Option<Code>,
    ) {
        let expected = self.identity.keys.as_ref().map(|keys| keys.address_code(Host::Peer, address));
        let (Some(sequence), true) = (sequence, has_code(code, expected)) else { return };
        if !self.is_right_form(address.nonce) || !self.subflows[index].is_established() {
            return;
        }
        let AddAddress { address_id, address, port, .. } = *address;
        let address = self.settings.dialect.converted(address);
        let is_outdated = self.inbound.on_signal(Dataset::Address(address_id), sequence) == Age::Outdated;
        if is_outdated {
            return;
        }
        match self.addresses.announce(address_id, address) {
            Announcement::Invalid => return,
            Announcement::Discarded => {}
            Announcement::New | Announcement::Known => {
                let event = MultipathEvent::AddressAdded { address_id, address, port };
                self.report_address(address_id, event);
            }
        }
        self.inbound.confirm(sequence, option, None);
    }
    /// Processes MP_REMOVEADDR: the subflows of that address are closed.
    pub(super) fn on_remove_address(
        &mut self,
        now: Instant,
        index: usize,
        sequence: Option<SeqNo>,
        option: &DccpOption,
        removal: RemoveAddress,
        code: Option<Code>,
    ) {
        let expected = self.identity.keys.as_ref().map(|keys| keys.removal_code(Host::Peer, &removal));
        let (Some(sequence), true) = (sequence, has_code(code, expected)) else { return };
        if !self.is_right_form(removal.nonce) || !self.subflows[index].is_established() {
            return;
        }
        let address_id = removal.address_id;
        let age = self.inbound.on_signal(Dataset::Address(address_id), sequence);
        let is_used = |index: &usize| {
            let subflow = &self.subflows[*index];
            subflow.peer_address == address_id && !subflow.is_over()
        };
        let users: Vec<usize> = (0..self.subflows.len()).filter(is_used).collect();
        let was_known = self.addresses.remove(address_id) || !users.is_empty();
        match age {
            Age::Outdated => return,
            // An unknown address: the request is ignored (Section 3.2.9). A repetition of one that was processed, whose
            // confirmation was lost, is confirmed again.
            Age::First if !was_known => return,
            _ => {}
        }
        for index in users {
            self.subflows[index].connection.close(now);
            self.collect(now, index, None);
        }
        if was_known {
            self.report_address(address_id, MultipathEvent::AddressRemoved { address_id });
        }
        self.inbound.confirm(sequence, option, None);
    }
    /// Processes MP_PRIO, which is about the subflow that carries it.
    pub(super) fn on_priority(
        &mut self,
        index: usize,
        sequence: Option<SeqNo>,
        option: &DccpOption,
        priority: PathPriority,
    ) {
        let subflow = &mut self.subflows[index];
        let Some(sequence) = sequence.filter(|_| subflow.is_established()) else { return };
        let id = subflow.id;
        if self.inbound.on_signal(Dataset::Priority(id), sequence) == Age::Outdated {
            return;
        }
        if subflow.peer_priority != priority {
            subflow.peer_priority = priority;
            let is_older = |event: &MultipathEvent| matches!(event, MultipathEvent::PriorityChanged { subflow, .. } if *subflow == id);
            self.events.queue.retain(|event| !is_older(event));
            self.events.queue.push_back(MultipathEvent::PriorityChanged { subflow: id, priority });
        }
        let carrier = (self.settings.dialect == Dialect::Draft2024).then_some(id);
        self.inbound.confirm(sequence, option, carrier);
    }
    /// Reports the latest state of an address, so that a peer cannot accumulate events.
    fn report_address(&mut self, id: u8, event: MultipathEvent) {
        self.events.queue.retain(|queued| match queued {
            MultipathEvent::AddressAdded { address_id, .. }
            | MultipathEvent::AddressRemoved { address_id } => *address_id != id,
            _ => true,
        });
        self.events.queue.push_back(event);
    }
}

fn hmac(code: Code) -> DccpOption {
    MultipathOption::Hmac(code).into()
}

fn has_code(code: Option<Code>, expected: Option<Code>) -> bool {
    code.zip(expected).is_some_and(|(code, expected)| is_equal(&code, &expected))
}
