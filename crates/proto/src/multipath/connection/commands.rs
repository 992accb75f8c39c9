//! Commands about addresses and priorities, and the peer's requests to leave an address.

use core::net::IpAddr;

use whimbrel_units::Instant;
use whimbrel_wire::option::multipath::{PathPriority, RemoveAddress};

use super::signalling::Received;
use super::{JoinError, MultipathConnection};
use crate::Connection;
use crate::multipath::SubflowId;
use crate::multipath::subflow::{Shares, Subflow};

impl MultipathConnection {
    /// Announces an address at which this host accepts subflows. Announcing it again may change the port, and
    /// requests the peer to try again. Returns its Address ID.
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
        self.signalling.announce(now, &self.cx, &mut self.fx, address, port)
    }

    /// Withdraws an address of this host, and closes its subflows in order. Returns `false` if it has no
    /// Address ID.
    pub fn remove_address(&mut self, now: Instant, address: IpAddr) -> bool {
        // Section 3.2.9: the closing procedure is tried, although the address may not work any longer.
        self.withdraw(now, address, |connection| connection.close(now))
    }

    /// Withdraws an address that this host has lost, and ends its subflows without a packet. As long as there
    /// is no other subflow, the connection waits for one to join. Returns `false` if it has no Address ID.
    pub fn lose_address(&mut self, now: Instant, address: IpAddr) -> bool {
        self.withdraw(now, address, Connection::replace)
    }

    fn withdraw(&mut self, now: Instant, address: IpAddr, end: impl Fn(&mut Connection)) -> bool {
        let withdrawn = self.signalling.withdraw(now, &self.cx, &mut self.fx, address);
        if let Some(id) = withdrawn {
            self.end_those(now, |subflow| subflow.own_address == id, end);
        }
        withdrawn.is_some()
    }

    /// Ends subflows.
    fn end_those(
        &mut self,
        now: Instant,
        is_meant: impl Fn(&Subflow) -> bool,
        end: impl Fn(&mut Connection),
    ) {
        for index in 0..self.subflows.len() {
            if is_meant(&self.subflows[index]) && !self.subflows[index].is_over() {
                end(&mut self.subflows[index].connection);
                self.collect(now, index, None);
            }
        }
    }

    /// Processes MP_REMOVEADDR: the subflows of that address are closed.
    pub(super) fn on_remove_address(&mut self, now: Instant, received: Received<'_>, removal: RemoveAddress) {
        let removed = self.signalling.on_remove_address(&self.cx, &self.subflows, received, removal);
        if let Some(removed) = removed {
            let is_meant = |subflow: &Subflow| subflow.peer_address == removed.address_id;
            self.end_those(now, is_meant, |connection| connection.close(now));
            self.signalling.removed(&mut self.fx, received, removed);
        }
    }

    /// Sets the priority of a subflow, for data of both directions: the peer is notified. Returns `false` if
    /// the subflow does not exist.
    pub fn set_priority(&mut self, now: Instant, subflow: SubflowId, priority: PathPriority) -> bool {
        let Some(index) = self.subflows.place(subflow) else { return false };
        self.subflows[index].own_priority = priority;
        if self.subflows[index].is_established() {
            self.signalling.signal_priority(now, &self.cx, &self.subflows[index]);
        }
        true
    }

    /// Sets a subflow's share under [`Weighted`](whimbrel_control::multipath::Weighted) and its cost under
    /// [`CheapestFirst`](whimbrel_control::multipath::CheapestFirst). Returns `false` if the subflow does not
    /// exist.
    pub fn set_shares(&mut self, subflow: SubflowId, weight: u32, cost: u32) -> bool {
        let index = self.subflows.place(subflow);
        if let Some(index) = index {
            self.subflows[index].shares = Shares { weight, cost };
        }
        index.is_some()
    }
}
