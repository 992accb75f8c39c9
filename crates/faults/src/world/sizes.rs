//! Packets that are too large for the path, and the reports of them.

use whimbrel_proto::{ConnectionHandle, State, Transmit};
use whimbrel_units::Instant;
use whimbrel_wire::{PacketType, SeqNo};

use super::World;
use crate::plan::{IcmpPolicy, Side};
use crate::watch::sizes::OVERHEAD;

/// The largest datagram after a report without a size: IPv6's least MTU, without headers.
const ASSUMED: usize = 1_280 - 40 - 8 - OVERHEAD;

/// A router's message in transit to the sender of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    to: Side,
    handle: ConnectionHandle,
    /// The packet's number.
    sequence: SeqNo,
    /// The path MTU, in bytes.
    mtu: usize,
}

impl World {
    /// The path from a host carries other sizes now.
    pub(super) fn narrow(&mut self, from: Side, mtu: usize) {
        self.course.tally.count("path: other sizes");
        self.path(from).mtu = mtu;
        for watched in self.host(from).watched.values_mut() {
            watched.sizes.on_change();
        }
    }

    /// A packet was too large for the path.
    pub(super) fn on_too_large(
        &mut self,
        from: Side,
        handle: ConnectionHandle,
        transmit: &Transmit,
        mtu: usize,
    ) {
        let now = self.course.now;
        let path = self.path(from);
        if let Some(at) = path.icmp_time(now) {
            if path.icmp_policy() == IcmpPolicy::Host {
                self.host(from).command(handle, |connection| connection.handle_too_large(now, ASSUMED));
            } else {
                let report = Report { to: from, handle, sequence: transmit.packet.sequence, mtu };
                self.reports.push((at, report));
            }
        }
        let is_data = matches!(transmit.packet.packet_type(), PacketType::Data | PacketType::DataAck);
        if is_data && self.plan.is_clean && self.rebinds == 0 {
            let rtt = self.plan.rtt();
            self.hosts[from as usize].on_vanished(now, handle, rtt, &mut self.course.tally);
        }
    }

    /// Arrival time of the next router's message.
    pub(super) fn next_report(&self) -> Option<Instant> {
        self.reports.iter().map(|(at, _)| *at).min()
    }

    /// Delivers routers' messages. Drivers process those that quote a recently sent packet.
    pub(super) fn deliver_reports(&mut self) {
        let now = self.course.now;
        let due: Vec<Report> =
            self.reports.extract_if(.., |(at, _)| *at <= now).map(|(_, report)| report).collect();
        for Report { to, handle, sequence, mtu } in due {
            self.course.tally.count("path: routers' icmp");
            self.course.wake(to);
            self.host(to).command(handle, |connection| {
                let seen = connection.snapshot();
                let limit = mtu.saturating_sub(OVERHEAD).max(1);
                let lowers = limit < seen.max_datagram || seen.path_mtu.is_some();
                if connection.has_sent(sequence) && lowers {
                    connection.set_max_datagram(now, limit);
                }
            });
        }
    }

    /// Checks, before the connections close, that they have found the path MTU.
    pub(super) fn check_sizes(&mut self) {
        // Packets to an address no longer in use have no bearing on sizes.
        if !self.plan.is_clean || self.rebinds > 0 || self.plan.rtt().as_millis() > 250 {
            return;
        }
        for side in Side::BOTH {
            let (host, path) = (&self.hosts[side as usize], &self.course.paths[0][side as usize]);
            for watched in host.watched.values() {
                let found = host.connection(watched.port).filter(|it| it.state() == State::Open);
                let Some(connection) = found else { continue };
                let config = &watched.config;
                let was_checked = watched.sizes.check(
                    self.course.now,
                    config.path_mtu,
                    &connection.snapshot(),
                    config.max_datagram,
                    path.mtu,
                );
                if was_checked {
                    self.course.tally.count("path: sizes found out");
                }
            }
        }
    }
}
