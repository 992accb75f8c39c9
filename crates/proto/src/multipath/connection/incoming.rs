//! Reception: the packets of the subflows.

use whimbrel_units::Instant;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, Reset, SeqNo};

use super::MultipathConnection;
use super::signalling::Received;
use crate::ReceiveMeta;
use crate::connection::IncomingOptions;
use crate::multipath::subflow::Stage;
use crate::multipath::{MultipathEvent, Path, SubflowId};

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
        let incoming = incoming.filter(|_| may_process && self.cx.is_multipath());
        let sequence = incoming.as_ref().and_then(|incoming| number(&incoming.options));
        let is_ending = matches!(packet_type, PacketType::Close | PacketType::CloseReq | PacketType::Reset);
        if let Some(incoming) = incoming.as_ref().filter(|_| is_ending) {
            // The end of the connection, which the subflow's end is part of.
            self.process_options(now, index, sequence, incoming);
        }
        self.collect(now, index, sequence);
        if let Some(incoming) = incoming.filter(|_| !is_ending) {
            if let Some(sequence) =
                sequence.filter(|_| !matches!(packet_type, PacketType::Data | PacketType::DataAck))
            {
                self.delivery.on_packet(now, sequence, None);
            }
            self.process_options(now, index, sequence, &incoming);
        }
        self.release(now);
        self.fx.report();
    }

    /// Accepts the Request of a subflow that joins, and names this connection's identifier; the Request is
    /// processed. `None`: it is ignored.
    ///
    /// # Errors
    ///
    /// The Reset to answer with.
    pub(crate) fn accept_join(
        &mut self,
        now: Instant,
        path: Path,
        meta: ReceiveMeta,
        request: Packet,
    ) -> Result<Option<SubflowId>, Reset> {
        let Some(index) = self.add_joining(now, path, &request)? else { return Ok(None) };
        self.receive(now, index, meta, request);
        Ok(Some(self.subflows[index].id))
    }

    /// Updates the state of the path with a valid packet.
    fn on_heard(&mut self, now: Instant, index: usize, packet_type: PacketType) {
        let subflow = &mut self.subflows[index];
        subflow.heard = now;
        let acknowledged = subflow.connection.greatest_acknowledged();
        self.fx.sending.on_acknowledged(subflow.id, subflow.watch.has_unanswered(acknowledged));
        let mut has_recovered = subflow.watch.on_acknowledged(now, acknowledged);
        if packet_type == PacketType::SyncAck {
            has_recovered |= subflow.watch.on_probe_answered();
        }
        if has_recovered {
            let id = subflow.id;
            self.fx.events.on_path(MultipathEvent::PathRecovered(id));
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
            let received = Received { sequence, option, code };
            let is_established = self.subflows[index].is_established();
            let (cx, fx) = (&self.cx, &mut self.fx);
            match MultipathOption::parse(option) {
                Some(MultipathOption::Confirm(list)) => self.signalling.on_confirm(&self.subflows, &list),
                Some(MultipathOption::AddAddress(address)) if is_established => {
                    self.signalling.on_add_address(cx, fx, received, &address);
                }
                Some(MultipathOption::RemoveAddress(address)) if is_established => {
                    self.on_remove_address(now, received, address);
                }
                Some(MultipathOption::Priority(priority)) if is_established => {
                    self.signalling.on_priority(cx, fx, &mut self.subflows[index], received, priority);
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
