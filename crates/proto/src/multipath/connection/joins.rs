//! Subflows that join (RFC 9897, Sections 3.2.2 and 3.3).

use thiserror::Error;
use whimbrel_units::Instant;
use whimbrel_wire::option::FeatureAction;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{Options, Packet, PacketType, Reset, ResetCode};

use super::MultipathConnection;
use super::context::{Context, Phase};
use super::handshake::option_error;
use crate::connection::IncomingOptions;
use crate::multipath::keys::{Host, is_equal, join};
use crate::multipath::offer;
use crate::multipath::subflow::{Stage, Subflow};
use crate::multipath::{MultipathEvent, Path, SubflowId};
use crate::{ConfigError, Connection, Role, State};

/// Reason for which a subflow cannot be added.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The first handshake is not complete, the peer does not use the extensions, or the connection is
    /// closing.
    #[error("the connection does not accept further subflows")]
    NotReady,
    /// There are [`max_subflows`](crate::multipath::MultipathConfig::max_subflows) already.
    #[error("the connection has all the subflows that it may have ({0})")]
    TooMany(usize),
    /// A subflow uses that path and these ports already.
    #[error("a subflow uses that path already")]
    InUse,
    /// All 256 Address IDs are in use.
    #[error("all 256 Address IDs are in use")]
    NoAddressId,
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl MultipathConnection {
    /// `true` if subflows may join: the first handshake is complete, and the connection is not closing.
    pub fn may_join(&self) -> bool {
        // Section 3.3: the host that adds a subflow waits for the fourth packet of the first handshake.
        let is_opening = |state| matches!(state, State::Request | State::Respond | State::PartOpen);
        let is_complete = |subflow: &Subflow| subflow.id.0 != 0 || !is_opening(subflow.connection.state());
        self.cx.phase == Phase::Multipath && self.subflows.iter().all(|it| it.is_over() || is_complete(it))
    }

    /// Adds a subflow on a path, with these DCCP ports of this end and of the peer. Its outcome is
    /// [`MultipathEvent::SubflowUp`] or [`MultipathEvent::SubflowDown`].
    ///
    /// # Errors
    ///
    /// The reason for which no subflow can be added now.
    pub fn join(&mut self, now: Instant, path: Path, ports: [u16; 2]) -> Result<SubflowId, JoinError> {
        let [source, destination] = ports;
        if !self.may_join() {
            return Err(JoinError::NotReady);
        }
        self.subflows.check_room(&self.cx.settings)?;
        if self.subflows.iter().any(|subflow| subflow.is_at(path, ports) && !subflow.is_over()) {
            return Err(JoinError::InUse);
        }
        let address = self.signalling.addresses.own_id(path.local.ip()).ok_or(JoinError::NoAddressId)?;
        let inner = Context::subflow_config(&self.cx.config, &self.cx.settings)?;
        let mut connection = Connection::client(now, inner, source, destination, self.fx.entropy.number())?;
        connection.become_subflow();
        let nonce = self.fx.entropy.word();
        let request = MultipathOption::Join(join(address, self.cx.identity.peer, nonce));
        if let Some(out) = connection.multipath_options() {
            out.handshake = Options::from_iter([offer::change(), request.into()]);
        }
        connection.connect(now);
        let index = self.subflows.add(&self.cx.settings, path, connection, Stage::Joining { nonce });
        self.subflows[index].own_address = address;
        Ok(self.subflows[index].id)
    }

    /// Adds a subflow for the Request of one that joins, which is then passed to it. Returns its place, or
    /// `None` if the Request is ignored.
    pub(super) fn add_joining(
        &mut self,
        now: Instant,
        path: Path,
        request: &Packet,
    ) -> Result<Option<usize>, Reset> {
        // Section 3.2.11: ignored while the connection closes.
        if matches!(self.cx.phase, Phase::Closing { .. } | Phase::Over) {
            return Ok(None);
        }
        let Some(offer) = offer::read_join(&request.options, FeatureAction::ChangeR) else {
            return Err(option_error());
        };
        if self.cx.phase != Phase::Multipath || offer.join.connection != self.cx.identity.own {
            return Err(option_error());
        }
        if self.subflows.check_room(&self.cx.settings).is_err() {
            return Err(Reset::new(ResetCode::TooBusy));
        }
        let Some(keys) = &self.cx.identity.keys else { return Err(option_error()) };
        let Some(address) = self.signalling.addresses.own_id(path.local.ip()) else {
            return Err(Reset::new(ResetCode::TooBusy));
        };
        let inner =
            Context::subflow_config(&self.cx.config, &self.cx.settings).map_err(|_| option_error())?;
        let nonce = self.fx.entropy.word();
        let (dialect, accepting) = (self.cx.settings.dialect, self.cx.identity.own);
        let theirs = offer.join.nonce;
        let code = keys.join_code(dialect, Host::Own, nonce, theirs, accepting);
        let expected = keys.join_code(dialect, Host::Peer, theirs, nonce, accepting);
        let connection = Connection::server(now, inner, request, self.fx.entropy.number());
        let mut connection = connection.map_err(|_| option_error())?;
        connection.become_subflow();
        let response = MultipathOption::Join(join(address, self.cx.identity.peer, nonce));
        if let Some(out) = connection.multipath_options() {
            let options = [offer::confirm(), response.into(), MultipathOption::Hmac(code).into()];
            out.handshake = Options::from_iter(options);
        }
        self.signalling.addresses.on_join(offer.join.address_id, path.remote.ip());
        let index = self.subflows.add(&self.cx.settings, path, connection, Stage::Verifying { expected });
        let subflow = &mut self.subflows[index];
        (subflow.own_address, subflow.peer_address) = (address, offer.join.address_id);
        Ok(Some(index))
    }

    /// Progress of a joining subflow's handshake by a packet with these options. Returns `false` if the
    /// packet's other options and data must not be processed.
    pub(super) fn on_joining(
        &mut self,
        now: Instant,
        index: usize,
        incoming: Option<&IncomingOptions>,
    ) -> bool {
        let state = self.subflows[index].connection.state();
        match self.subflows[index].stage {
            Stage::Joining { nonce } => {
                let response = incoming.filter(|incoming| incoming.packet_type == PacketType::Response);
                if let Some(response) = response.filter(|_| state == State::PartOpen) {
                    self.on_join_response(index, nonce, &response.options);
                }
                false
            }
            Stage::Confirming => {
                // Data confirm the code also while this end closes.
                let has_data = incoming
                    .is_some_and(|it| matches!(it.packet_type, PacketType::Data | PacketType::DataAck));
                let is_confirmed = state == State::Open || state == State::Closing && has_data;
                if is_confirmed {
                    self.join_completed(now, index);
                }
                is_confirmed
            }
            Stage::Verifying { expected } => {
                let acknowledgement = incoming.filter(|incoming| {
                    let packet_type = incoming.packet_type;
                    !matches!(packet_type, PacketType::Request | PacketType::Sync | PacketType::SyncAck)
                });
                let Some(acknowledgement) = acknowledgement.filter(|_| state == State::Open) else {
                    return false;
                };
                let is_right = acknowledgement.options.iter().any(|option| {
                    matches!(MultipathOption::parse(option), Some(MultipathOption::Hmac(code))
                        if is_equal(&code, &expected))
                });
                if is_right {
                    self.join_completed(now, index);
                } else {
                    // Section 3.6: a code that cannot be verified closes the subflow.
                    self.subflows[index].connection.reset_with(option_error());
                }
                is_right
            }
            _ => true,
        }
    }

    fn on_join_response(&mut self, index: usize, nonce: u32, options: &Options) {
        let (dialect, accepting) = (self.cx.settings.dialect, self.cx.identity.peer);
        let offer = offer::read_join(options, FeatureAction::ConfirmL)
            .filter(|offer| offer.join.connection == self.cx.identity.own);
        let codes = offer.zip(self.cx.identity.keys.as_ref()).and_then(|(offer, keys)| {
            let theirs = keys.join_code(dialect, Host::Peer, offer.join.nonce, nonce, accepting);
            let ours = keys.join_code(dialect, Host::Own, nonce, offer.join.nonce, accepting);
            is_equal(&offer.code?, &theirs).then_some((offer.join.address_id, ours))
        });
        let subflow = &mut self.subflows[index];
        let Some((address, ours)) = codes else {
            return subflow.connection.reset_with(option_error());
        };
        if let Some(out) = subflow.connection.multipath_options() {
            out.handshake.clear();
            out.partopen = Options::from_iter([MultipathOption::Hmac(ours).into()]);
        }
        subflow.peer_address = address;
        subflow.stage = Stage::Confirming;
        self.signalling.addresses.on_join(address, subflow.path.remote.ip());
    }

    /// A packet has arrived on an established subflow. A client that repeats its code has not received the
    /// acknowledgement that completes the join: it is repeated, too.
    pub(super) fn complete_join_again(&mut self, index: usize, incoming: &IncomingOptions) {
        let connection = &mut self.subflows[index].connection;
        let first = incoming.options.iter().find_map(MultipathOption::parse);
        let has_code = matches!(first, Some(MultipathOption::Hmac(_)));
        let acknowledges = matches!(incoming.packet_type, PacketType::Ack | PacketType::DataAck);
        if has_code && acknowledges && connection.role() == Role::Server && connection.state() == State::Open
        {
            connection.acknowledge();
        }
    }

    fn join_completed(&mut self, now: Instant, index: usize) {
        let subflow = &mut self.subflows[index];
        if let Some(out) = subflow.connection.multipath_options() {
            out.handshake.clear();
            out.partopen.clear();
        }
        subflow.stage = Stage::Established;
        if let Some(rtt) = subflow.connection.rtt_estimate() {
            subflow.watch.on_handshake(rtt);
        }
        if self.cx.phase == Phase::Multipath {
            self.fx.expiry = Instant::FAR_FUTURE;
        }
        let id = subflow.id;
        self.fx.events.push(MultipathEvent::SubflowUp(id));
        if subflow.own_priority != Default::default() {
            self.signalling.signal_priority(now, &self.cx, subflow);
        }
        self.fit_datagrams();
    }
}
