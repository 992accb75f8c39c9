//! The handshake of the first subflow (RFC 9897, Sections 3.3 and 3.6).

use whimbrel_units::Instant;
use whimbrel_wire::option::FeatureAction;
use whimbrel_wire::option::multipath::{Key, MultipathKey, MultipathOption};
use whimbrel_wire::{Options, Packet, PacketType, Reset, ResetCode, SeqNo};

use super::MultipathConnection;
use super::context::{Context, Effects, Identity, Phase};
use super::signalling::Signalling;
use super::subflows::Subflows;
use crate::connection::IncomingOptions;
use crate::multipath::delivery::Delivery;
use crate::multipath::entropy::Entropy;
use crate::multipath::keys::Keys;
use crate::multipath::offer::{self, Offer};
use crate::multipath::subflow::Stage;
use crate::multipath::{MultipathConfig, MultipathEvent, Path};
use crate::{Config, ConfigError, Connection, Role, State};

/// The Reset of a subflow whose multipath options are invalid (Section 3.5).
pub(crate) fn option_error() -> Reset {
    let data = [whimbrel_wire::DccpOption::MULTIPATH_KIND, 0, 0];
    Reset::with_data(ResetCode::OptionError, data)
}

impl MultipathConnection {
    /// Creates the host that opens a connection (Host A), and sends its Request. `entropy`: unpredictable
    /// bytes for keys, nonces and sequence numbers, used for no other connection.
    ///
    /// # Errors
    ///
    /// A configuration is invalid.
    pub fn client(
        now: Instant,
        config: Config,
        settings: MultipathConfig,
        path: Path,
        ports: [u16; 2],
        entropy: [u8; 32],
    ) -> Result<Self, ConfigError> {
        let inner = Context::subflow_config(&config, &settings)?;
        let mut entropy = Entropy::new(entropy);
        let offered = offer::make_keys(&settings.key_types, &mut entropy);
        let identity =
            Identity { role: Role::Client, own: entropy.word(), peer: 0, ports, offered, keys: None };
        let [source, destination] = ports;
        let mut connection = Connection::client(now, inner, source, destination, entropy.number())?;
        connection.become_subflow();
        let keys = MultipathKey {
            connection: identity.own,
            keys: identity.offered.clone(),
            unread: Default::default(),
        };
        if let Some(out) = connection.multipath_options() {
            out.handshake = Options::from_iter([offer::change(), MultipathOption::Key(keys).into()]);
        }
        connection.connect(now);
        let mut this = Self::new(config, settings, entropy, identity, path, Phase::Opening);
        this.subflows.add(&this.cx.settings, path, connection, Stage::Offering);
        Ok(this)
    }

    /// The Reset that answers a Request instead of a connection: its multipath options are invalid, or
    /// missing although they are required. `None` if a connection may be created.
    pub fn objection(settings: &MultipathConfig, request: &Packet) -> Option<Reset> {
        let supports = |theirs: &MultipathKey| {
            settings.key_types.iter().any(|key_type| theirs.of_type(*key_type).is_some())
        };
        match offer::read(&request.options, FeatureAction::ChangeR) {
            Offer::Invalid => Some(option_error()),
            Offer::Keys(theirs) if supports(&theirs) => None,
            _ => settings.required.then_some(Reset::new(ResetCode::ConnectionRefused)),
        }
    }

    /// Creates the host that answers a Request (Host B), which must then be passed to
    /// [`MultipathConnection::handle_packet`]. `connection_id`: a Connection Identifier that no other
    /// connection of this host has. `entropy` as for [`MultipathConnection::client`].
    ///
    /// # Errors
    ///
    /// A configuration is invalid.
    pub fn server(
        now: Instant,
        config: Config,
        settings: MultipathConfig,
        path: Path,
        request: &Packet,
        connection_id: u32,
        entropy: [u8; 32],
    ) -> Result<Self, ConfigError> {
        Self::answering(now, config, settings, path, request, connection_id, entropy, None)
    }

    /// As [`MultipathConnection::server`], with the initial sequence number of the first subflow.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn answering(
        now: Instant,
        config: Config,
        settings: MultipathConfig,
        path: Path,
        request: &Packet,
        connection_id: u32,
        entropy: [u8; 32],
        iss: Option<SeqNo>,
    ) -> Result<Self, ConfigError> {
        let inner = Context::subflow_config(&config, &settings)?;
        let mut entropy = Entropy::new(entropy);
        let iss = iss.map_or_else(|| entropy.number(), |iss| iss.value());
        let mut connection = Connection::server(now, inner, request, iss)?;
        let offer = offer::read(&request.options, FeatureAction::ChangeR);
        let ports = [request.destination_port, request.source_port];
        let mut identity = Identity {
            role: Role::Server,
            own: connection_id,
            peer: 0,
            ports,
            offered: Default::default(),
            keys: None,
        };
        let mut phase = Phase::Opening;
        match offer {
            Offer::Keys(theirs) => {
                let selected = settings.key_types.iter().find_map(|key_type| theirs.of_type(*key_type));
                if let Some(peer) = selected {
                    connection.become_subflow();
                    let answer = answer(&mut identity, &theirs, peer, &mut entropy);
                    if let Some(out) = connection.multipath_options() {
                        out.handshake = Options::from_iter([offer::confirm(), answer.into()]);
                    }
                } else {
                    // Section 3.2.4: without a common key type the connection is a regular one.
                    phase = Phase::Regular;
                }
            }
            // The connection answers the feature with an empty Confirm, as one that does not know it.
            Offer::None | Offer::Invalid => phase = Phase::Regular,
        }
        let mut this = Self::new(config, settings, entropy, identity, path, phase);
        this.subflows.add(&this.cx.settings, path, connection, Stage::Accepting);
        Ok(this)
    }

    fn new(
        config: Config,
        settings: MultipathConfig,
        entropy: Entropy,
        identity: Identity,
        path: Path,
        phase: Phase,
    ) -> Self {
        Self {
            scheduler: settings.scheduler.build(),
            delivery: Delivery::new(&config),
            signalling: Signalling::new(path, settings.max_addresses),
            subflows: Subflows::default(),
            fx: Effects::new(&config, entropy),
            cx: Context { config, settings, identity, phase },
        }
    }

    /// Progress of the first handshake by a packet with these options.
    pub(super) fn on_first_handshake(&mut self, index: usize, incoming: Option<&IncomingOptions>) {
        let state = self.subflows[index].connection.state();
        match self.subflows[index].stage {
            Stage::Offering => {
                let response = incoming.filter(|incoming| incoming.packet_type == PacketType::Response);
                if let Some(response) = response.filter(|_| state == State::PartOpen) {
                    self.on_first_response(index, &response.options);
                }
            }
            Stage::Accepting if state == State::Open => self.establish(index),
            _ => {}
        }
    }

    fn on_first_response(&mut self, index: usize, options: &Options) {
        let offered = core::mem::take(&mut self.cx.identity.offered);
        let subflow = &mut self.subflows[index];
        match offer::read(options, FeatureAction::ConfirmL) {
            Offer::Keys(theirs) => {
                let pair = theirs
                    .keys
                    .first()
                    .and_then(|peer| Some((offered.iter().find(|own| own.key_type == peer.key_type)?, peer)));
                let Some((own, peer)) = pair else {
                    // A type that was not offered.
                    return subflow.connection.reset_with(option_error());
                };
                self.cx.identity.peer = theirs.connection;
                self.cx.identity.keys = Some(Keys::new(&own.data, &peer.data));
                if let Some(out) = subflow.connection.multipath_options() {
                    out.handshake.clear();
                }
                self.establish(index);
            }
            Offer::None if self.cx.settings.required => {
                subflow.connection.reset_with(Reset::new(ResetCode::Aborted));
            }
            Offer::None => {
                subflow.connection.leave_multipath();
                self.establish(index);
            }
            Offer::Invalid => subflow.connection.reset_with(option_error()),
        }
    }

    /// The first subflow may carry data.
    fn establish(&mut self, index: usize) {
        let is_multipath = self.cx.is_multipath();
        let subflow = &mut self.subflows[index];
        subflow.stage = Stage::Established;
        if let Some(rtt) = subflow.connection.rtt_estimate() {
            subflow.watch.on_handshake(rtt);
        }
        if matches!(self.cx.phase, Phase::Opening | Phase::Regular) {
            self.cx.phase = if is_multipath { Phase::Multipath } else { Phase::Regular };
        }
        self.fx.events.push(MultipathEvent::Established { is_multipath });
    }
}

/// Selects the key of that type for this end, and returns the option that answers the offer.
fn answer(
    identity: &mut Identity,
    theirs: &MultipathKey,
    peer: &Key,
    entropy: &mut Entropy,
) -> MultipathOption {
    let own = offer::make_keys(&[peer.key_type], entropy);
    identity.peer = theirs.connection;
    identity.keys = own.first().map(|own| Keys::new(&own.data, &peer.data));
    MultipathOption::Key(MultipathKey { connection: identity.own, keys: own, unread: Default::default() })
}
