//! The events of the subflows.

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::data_dropped::DropCode;

use super::MultipathConnection;
use super::context::{ClosingStep, Phase};
use crate::multipath::MultipathEvent;
use crate::multipath::delivery::Arrived;
use crate::multipath::subflow::Stage;
use crate::{ConnectionError, Event};

impl MultipathConnection {
    /// Moves the events of a subflow to the connection. `sequence`: the number of the packet that it has just
    /// received.
    pub(super) fn collect(&mut self, now: Instant, index: usize, sequence: Option<SeqNo>) {
        while let Some(event) = self.subflows[index].connection.poll_event() {
            let id = self.subflows[index].id;
            match event {
                Event::Datagram { payload, sequence: packet, ecn, .. } => {
                    let arrived = Arrived { payload, subflow: id, ecn, packet };
                    self.on_datagram(now, index, sequence, arrived);
                }
                Event::DatagramSent { sequence: packet, .. } => self.on_datagram_sent(now, index, packet),
                Event::DatagramDropped { .. } => {
                    // The subflow has ended, or its path carries only smaller datagrams.
                    if let Some(staged) = self.subflows[index].staged.take()
                        && !self.cx.is_over()
                    {
                        self.fx.sending.take_back(staged);
                    }
                }
                Event::Closed(error) => self.on_subflow_over(now, index, error),
                Event::MaxDatagramChanged { .. } => {
                    self.fit_datagrams();
                    self.fx.events.on_subflow(id, event);
                }
                Event::DataDropped { code: DropCode::ApplicationNotListening, .. } => {
                    self.fx.sending.give_up();
                    self.fx.events.on_subflow(id, event);
                }
                Event::Connected { .. } | Event::Drained | Event::SendReady => {}
                event => self.fx.events.on_subflow(id, event),
            }
        }
    }

    fn on_datagram(&mut self, now: Instant, index: usize, sequence: Option<SeqNo>, arrived: Arrived) {
        if self.cx.is_over() || self.delivery.has_ended() {
            let connection = &mut self.subflows[index].connection;
            connection.datagram_discarded(arrived.packet, DropCode::ApplicationNotListening);
            // This subflow may have joined since.
            connection.stop_receiving(now);
            return;
        }
        let is_accepted = self.subflows[index].is_established() || self.subflows[index].is_over();
        if !self.cx.is_multipath() {
            return self.deliver(arrived.packet, arrived);
        }
        match sequence.filter(|_| is_accepted) {
            Some(sequence) => {
                let is_empty = self.cx.settings.dialect.has_empty_carriers() && arrived.payload.is_empty();
                let data = (!is_empty).then_some(arrived);
                if let Some((sequence, arrived)) = self.delivery.on_packet(now, sequence, data) {
                    self.deliver(sequence, arrived);
                }
            }
            // Section 3.2.5: all data has a number. Without one it could be a duplicate.
            None => {
                let code = DropCode::ProtocolConstraints;
                self.subflows[index].connection.datagram_discarded(arrived.packet, code);
            }
        }
    }

    fn on_datagram_sent(&mut self, now: Instant, index: usize, packet: SeqNo) {
        let is_multipath = self.cx.is_multipath();
        let subflow = &mut self.subflows[index];
        subflow.watch.on_data_sent(now, packet);
        if let Some(staged) = subflow.staged.take() {
            self.fx.sending.on_sent(&staged);
            let sequence = staged.sequence.filter(|_| is_multipath).unwrap_or(packet);
            let (id, subflow) = (staged.id, subflow.id);
            self.fx.events.push(MultipathEvent::DatagramSent { id, sequence, subflow });
        }
    }

    /// A subflow's connection has ended.
    fn on_subflow_over(&mut self, now: Instant, index: usize, error: ConnectionError) {
        let subflow = &mut self.subflows[index];
        // Joins by the peer count once they are verified.
        let was_known = !matches!(subflow.stage, Stage::Verifying { .. });
        subflow.stage = Stage::Ended;
        let id = subflow.id;
        if let Some(staged) = subflow.staged.take()
            && !self.cx.is_over()
        {
            self.fx.sending.take_back(staged);
        }
        self.signalling.forget(id);
        self.fx.events.on_subflow_end(id, was_known, error);
        if self.cx.is_over() {
            return;
        }
        let has_others = self.subflows.has_live();
        match self.cx.phase {
            Phase::Closing { step: ClosingStep::Begun | ClosingStep::Receiving(_), .. } => {
                self.on_subflow_closed(now, error);
            }
            Phase::Multipath if !has_others => {
                // Section 3.2.3: a Close or Reset of the last subflow ends the connection. One that this end
                // has left may be followed by another.
                if matches!(error, ConnectionError::ClosedByPeer | ConnectionError::Reset(_)) {
                    self.finish(error);
                } else {
                    self.fx.expiry = self.fx.expiry.min(now + self.cx.settings.orphan_timeout);
                }
            }
            _ if !has_others => self.finish(error),
            _ => {}
        }
    }
}
