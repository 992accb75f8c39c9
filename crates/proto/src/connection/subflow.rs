//! The options of RFC 9897 that a subflow of a multipath connection exchanges.
//!
//! The [multipath connection](crate::multipath) decides on them. This module holds those that wait for a
//! packet of their type, and the options of the last valid packet until the multipath connection takes them.

use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::option::multipath::{MultipathOption, SEQ_LEN};
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, SeqNo};

use super::State;
use super::room::options_len;

/// Multipath options of a connection; `None` unless it is a subflow.
#[derive(Debug, Default)]
pub(super) struct Subflow(Option<Box<Exchange>>);

#[derive(Debug, Default)]
struct Exchange {
    outgoing: OutgoingOptions,
    incoming: Option<IncomingOptions>,
}

/// The options that a subflow adds to its packets, by their type.
#[derive(Debug, Default)]
pub(crate) struct OutgoingOptions {
    /// For every Request or Response.
    pub(crate) handshake: Options,
    /// For every acknowledgement of a client until the server has acknowledged one.
    pub(crate) partopen: Options,
    /// For the next Ack, which is sent at once.
    pub(crate) next_ack: Options,
    /// For the next Ack, regardless of its reason.
    pub(crate) with_ack: Options,
    /// For every CloseReq or Close.
    pub(crate) closing: Options,
    /// For the Reset.
    pub(crate) reset: Options,
    /// The number of the next datagram in the multipath connection.
    pub(crate) sequence: Option<SeqNo>,
    /// `true` if datagrams wait that may be sent on this subflow.
    pub(crate) has_more: bool,
    /// `true` if a Close that is due waits, so that it does not overtake data on other subflows.
    pub(crate) holds_close: bool,
}

/// The options of a valid packet that concern the multipath connection.
#[derive(Clone, Debug)]
pub(crate) struct IncomingOptions {
    /// Its type.
    pub(crate) packet_type: PacketType,
    /// Its Multipath options, its unknown options of that type, and its options of the feature Multipath
    /// Capable.
    pub(crate) options: Options,
}

impl Subflow {
    /// Makes the connection a subflow.
    pub(super) fn enable(&mut self) {
        self.0.get_or_insert_default();
    }

    /// The connection is not, or no longer, a subflow.
    pub(super) fn disable(&mut self) {
        self.0 = None;
    }

    /// `true` if the connection is a subflow.
    #[inline]
    pub(super) fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// The options for sent packets.
    pub(super) fn outgoing(&mut self) -> Option<&mut OutgoingOptions> {
        self.0.as_mut().map(|exchange| &mut exchange.outgoing)
    }

    /// Removes the options of the last valid packet.
    pub(super) fn take_incoming(&mut self) -> Option<IncomingOptions> {
        self.0.as_mut()?.incoming.take()
    }

    /// `true` if an Ack is pending for options.
    #[inline]
    pub(super) fn owes_ack(&self) -> bool {
        self.0.as_ref().is_some_and(|exchange| !exchange.outgoing.next_ack.is_empty())
    }

    /// `true` if datagrams wait outside the connection.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.0.as_ref().is_some_and(|exchange| exchange.outgoing.has_more)
    }

    /// `true` if a Close that is due waits.
    #[inline]
    pub(super) fn holds_close(&self) -> bool {
        self.0.as_ref().is_some_and(|exchange| exchange.outgoing.holds_close)
    }

    /// Stores the options of a valid packet.
    pub(super) fn on_packet(&mut self, packet: &Packet) {
        let Some(exchange) = &mut self.0 else { return };
        let packet_type = packet.packet_type();
        let concerns = |option: &&DccpOption| match option {
            DccpOption::Multipath(_) => option.counts_on(packet_type),
            DccpOption::Unknown { kind, .. } => *kind == DccpOption::MULTIPATH_KIND,
            DccpOption::Feature(feature) => feature.feature_number() == FeatureNumber::MultipathCapable,
            _ => false,
        };
        let options = packet.options.iter().filter(concerns).cloned().collect();
        exchange.incoming = Some(IncomingOptions { packet_type, options });
    }

    /// Number of bytes of options that every packet of that type carries now.
    #[inline]
    pub(super) fn encoded_len(&self, state: State, packet_type: PacketType) -> usize {
        let Some(exchange) = &self.0 else { return 0 };
        let out = &exchange.outgoing;
        let partopen = if state == State::PartOpen { options_len(&out.partopen) } else { 0 };
        match packet_type {
            PacketType::Data => SEQ_LEN,
            PacketType::DataAck => SEQ_LEN + partopen,
            PacketType::Ack => options_len(&out.next_ack) + options_len(&out.with_ack) + partopen,
            PacketType::Request | PacketType::Response => options_len(&out.handshake),
            PacketType::Close | PacketType::CloseReq => options_len(&out.closing),
            PacketType::Reset => options_len(&out.reset),
            PacketType::Sync | PacketType::SyncAck | PacketType::Listen => 0,
        }
    }

    /// Number of bytes that features leave to the options of the handshake on a Response, which may be no
    /// longer than three times the Request.
    pub(super) fn reserved_on(&self, packet_type: PacketType) -> usize {
        match (&self.0, packet_type) {
            (Some(exchange), PacketType::Response) => options_len(&exchange.outgoing.handshake),
            _ => 0,
        }
    }

    /// Adds the options to a packet that is about to leave.
    pub(super) fn write(&mut self, state: State, packet_type: PacketType, options: &mut Options) {
        let Some(exchange) = &mut self.0 else { return };
        let out = &mut exchange.outgoing;
        match packet_type {
            PacketType::Request | PacketType::Response => options.extend(out.handshake.iter().cloned()),
            PacketType::Close | PacketType::CloseReq => options.extend(out.closing.iter().cloned()),
            PacketType::Reset => options.extend(out.reset.iter().cloned()),
            PacketType::Ack => options.extend(out.next_ack.drain(..).chain(out.with_ack.drain(..))),
            PacketType::Data | PacketType::DataAck => {
                options
                    .extend(out.sequence.take().map(|sequence| MultipathOption::Sequence(sequence).into()));
            }
            PacketType::Sync | PacketType::SyncAck | PacketType::Listen => {}
        }
        let acknowledges = matches!(packet_type, PacketType::Ack | PacketType::DataAck);
        if state == State::PartOpen && acknowledges {
            options.extend(out.partopen.iter().cloned());
        }
    }
}
