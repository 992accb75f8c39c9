//! Reception: the packets of the subflows.

use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, SeqNo};

use super::{ClosingStep, MultipathConnection, Phase};
use crate::connection::IncomingOptions;
use crate::multipath::delivery::Arrived;
use crate::multipath::subflow::Stage;
use crate::multipath::{MultipathEvent, SubflowId};
use crate::{ConnectionError, Event, ReceiveMeta};

/// The most events of single subflows that wait for the application.
const MAX_SUBFLOW_EVENTS: usize = 256;

impl MultipathConnection {
    /// Passes a packet to its subflow, and processes what concerns the whole connection.
    pub(super) fn receive(&mut self, now: Instant, index: usize, meta: ReceiveMeta, packet: Packet) {
        let packet_type = packet.packet_type();
        let subflow = &mut self.subflows[index];
        let before = subflow.connection.valid_packets();
        subflow.connection.handle_packet(now, meta, packet);
        let is_valid = subflow.connection.valid_packets() > before;
        let incoming = subflow.connection.take_multipath_options().filter(|_| is_valid);
        if is_valid {
            self.on_heard(now, index, packet_type);
        }
        let may_process = match self.subflows[index].stage {
            Stage::Offering | Stage::Accepting => {
                self.on_first_handshake(index, incoming.as_ref());
                true
            }
            Stage::Established => {
                if let Some(incoming) = &incoming {
                    self.complete_join_again(index, incoming);
                }
                true
            }
            Stage::Ended => true,
            _ => self.on_joining(now, index, incoming.as_ref()),
        };
        let incoming = incoming.filter(|_| may_process && self.is_multipath());
        let sequence = incoming.as_ref().and_then(|incoming| number(&incoming.options));
        let is_ending = matches!(packet_type, PacketType::Close | PacketType::CloseReq | PacketType::Reset);
        if let Some(incoming) = incoming.as_ref().filter(|_| is_ending) {
            // The end of the connection, which the subflow's end is part of.
            self.process_options(now, index, sequence, incoming);
        }
        self.collect(now, index, sequence);
        if let Some(incoming) = incoming.filter(|_| !is_ending) {
            if let Some(sequence) = sequence.filter(|_| !Self::is_data(packet_type)) {
                self.delivery.on_packet(now, sequence, None);
            }
            self.process_options(now, index, sequence, &incoming);
        }
        self.release(now);
        self.sending.report(&mut self.events.queue);
    }

    /// Updates the state of the path with a valid packet.
    fn on_heard(&mut self, now: Instant, index: usize, packet_type: PacketType) {
        let subflow = &mut self.subflows[index];
        subflow.heard = now;
        let acknowledged = subflow.connection.greatest_acknowledged();
        self.sending.on_acknowledged(subflow.id, subflow.watch.has_unanswered(acknowledged));
        let mut has_recovered = subflow.watch.on_acknowledged(now, acknowledged);
        if packet_type == PacketType::SyncAck {
            has_recovered |= subflow.watch.on_probe_answered();
        }
        if has_recovered {
            let id = subflow.id;
            self.report_path(MultipathEvent::PathRecovered(id));
        }
    }

    /// Moves the events of a subflow to the connection. `sequence`: the number of the packet that it has just received.
    pub(super) fn collect(&mut self, now: Instant, index: usize, sequence: Option<SeqNo>) {
        while let Some(event) = self.subflows[index].connection.poll_event() {
            let id = self.subflows[index].id;
            match event {
                Event::Datagram { payload, sequence: packet, ecn } => {
                    let arrived = Arrived { payload, subflow: id, ecn, packet };
                    self.on_datagram(now, index, sequence, arrived);
                }
                Event::DatagramSent { sequence: packet, .. } => self.on_datagram_sent(now, index, packet),
                Event::DatagramDropped { .. } => {
                    // The subflow has ended, or its path carries only smaller datagrams.
                    if let Some(staged) = self.subflows[index].staged.take()
                        && self.phase != Phase::Over
                    {
                        self.sending.take_back(staged);
                    }
                }
                Event::Closed(error) => self.on_subflow_over(now, index, error),
                Event::MaxDatagramChanged { .. } => {
                    let limit = self.max_datagram();
                    self.sending.drop_larger_than(limit);
                    self.report(id, event);
                }
                Event::DataDropped { code: DropCode::ApplicationNotListening, .. } => {
                    self.sending.give_up();
                    self.report(id, event);
                }
                Event::Connected { .. } | Event::Drained | Event::SendReady => {}
                event => self.report(id, event),
            }
        }
    }
    /// Reports an event of a subflow. Of too many that the application does not take, the oldest are dropped.
    fn report(&mut self, subflow: SubflowId, event: Event) {
        let is_older = |queued: &MultipathEvent| {
            matches!(queued, MultipathEvent::Subflow { subflow: of, event: old }
                if *of == subflow && event.supersedes(old))
        };
        self.events.queue.retain(|queued| !is_older(queued));
        let is_of_subflow = |queued: &MultipathEvent| matches!(queued, MultipathEvent::Subflow { .. });
        if self.events.queue.len() >= MAX_SUBFLOW_EVENTS
            && self.events.queue.iter().filter(|queued| is_of_subflow(queued)).count() >= MAX_SUBFLOW_EVENTS
            && let Some(oldest) = self.events.queue.iter().position(is_of_subflow)
        {
            self.events.queue.remove(oldest);
        }
        self.events.queue.push_back(MultipathEvent::Subflow { subflow, event });
    }
    fn on_datagram(&mut self, now: Instant, index: usize, sequence: Option<SeqNo>, arrived: Arrived) {
        if self.phase == Phase::Over || self.delivery.has_ended() {
            let connection = &mut self.subflows[index].connection;
            connection.datagram_discarded(arrived.packet, DropCode::ApplicationNotListening);
            // This subflow may have joined since.
            connection.stop_receiving(now);
            return;
        }
        let is_accepted = self.subflows[index].is_established() || self.subflows[index].is_over();
        if !self.is_multipath() {
            return self.deliver(arrived.packet, arrived);
        }
        match sequence.filter(|_| is_accepted) {
            Some(sequence) => {
                let is_empty = self.settings.dialect.has_empty_carriers() && arrived.payload.is_empty();
                let data = (!is_empty).then_some(arrived);
                if let Some((sequence, arrived)) = self.delivery.on_packet(now, sequence, data) {
                    self.deliver(sequence, arrived);
                }
            }
            // Section 3.2.5: all data have a number. Without it they could be duplicates.
            None => {
                let code = DropCode::ProtocolConstraints;
                self.subflows[index].connection.datagram_discarded(arrived.packet, code);
            }
        }
    }
    fn on_datagram_sent(&mut self, now: Instant, index: usize, packet: SeqNo) {
        let is_multipath = self.is_multipath();
        let subflow = &mut self.subflows[index];
        subflow.watch.on_data_sent(now, packet);
        if let Some(staged) = subflow.staged.take() {
            self.sending.on_sent(&staged);
            let sequence = staged.sequence.filter(|_| is_multipath).unwrap_or(packet);
            let (id, subflow) = (staged.id, subflow.id);
            self.events.queue.push_back(MultipathEvent::DatagramSent { id, sequence, subflow });
        }
    }
    /// A subflow's connection is over.
    fn on_subflow_over(&mut self, now: Instant, index: usize, error: ConnectionError) {
        let subflow = &mut self.subflows[index];
        // Joins by the peer count once they are verified.
        let was_known = !matches!(subflow.stage, Stage::Verifying { .. });
        subflow.stage = Stage::Ended;
        let id = subflow.id;
        if let Some(staged) = subflow.staged.take()
            && self.phase != Phase::Over
        {
            self.sending.take_back(staged);
        }
        self.signals.forget(id);
        self.report_end(id, was_known, error);
        if self.phase == Phase::Over {
            return;
        }
        let has_others = self.subflows.iter().any(|subflow| !subflow.is_over());
        match self.phase {
            Phase::Closing { step: ClosingStep::Begun | ClosingStep::Receiving(_), .. } => {
                self.on_subflow_closed(now, error);
            }
            Phase::Multipath if !has_others => {
                // Section 3.2.3: a Close or Reset of the last subflow ends the connection. One that this end has left
                // may be followed by another.
                if matches!(error, ConnectionError::ClosedByPeer | ConnectionError::Reset(_)) {
                    self.finish(error);
                } else {
                    self.expiry = self.expiry.min(now + self.settings.orphan_timeout);
                }
            }
            _ if !has_others => self.finish(error),
            _ => {}
        }
    }

    /// Reports the end of a subflow. One whose beginning the application has not noticed leaves no event, so that a peer
    /// cannot accumulate them.
    fn report_end(&mut self, id: SubflowId, was_known: bool, error: ConnectionError) {
        let before = self.events.queue.len();
        self.events.queue.retain(|event| *event != MultipathEvent::SubflowUp(id));
        if was_known && self.events.queue.len() == before {
            self.events.queue.push_back(MultipathEvent::SubflowDown { subflow: id, error });
        }
    }

    /// Processes the options of a valid packet of a subflow.
    fn process_options(
        &mut self,
        now: Instant,
        index: usize,
        sequence: Option<SeqNo>,
        incoming: &IncomingOptions,
    ) {
        let options = &incoming.options;
        for (place, option) in options.iter().enumerate() {
            // Section 3.2.6: an MP_HMAC directly follows its option.
            let code = match options.get(place + 1).and_then(MultipathOption::parse) {
                Some(MultipathOption::Hmac(code)) => Some(code),
                _ => None,
            };
            match MultipathOption::parse(option) {
                Some(MultipathOption::Confirm(list)) => self.on_confirm(&list),
                Some(MultipathOption::AddAddress(address)) => {
                    self.on_add_address(index, sequence, option, &address, code);
                }
                Some(MultipathOption::RemoveAddress(address)) => {
                    self.on_remove_address(now, index, sequence, option, address, code);
                }
                Some(MultipathOption::Priority(priority)) => {
                    self.on_priority(index, sequence, option, priority);
                }
                Some(MultipathOption::Rtt(report)) => self.subflows[index].peer_rtt = Some(report),
                Some(MultipathOption::Close(key)) => self.on_close(now, incoming.packet_type, &key),
                Some(MultipathOption::FastClose(key)) => self.on_fast_close(now, &key),
                _ => {}
            }
        }
    }
}

/// The number of a packet in the multipath connection.
fn number(options: &Options) -> Option<SeqNo> {
    options.iter().find_map(|option: &DccpOption| match MultipathOption::parse(option) {
        Some(MultipathOption::Sequence(sequence)) => Some(sequence),
        _ => None,
    })
}
