//! The two halves of a multipath connection that its concerns share: what they read, and where their effects
//! go.

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::multipath::{Key, MultipathOption};

use super::events::Events;
use crate::multipath::entropy::Entropy;
use crate::multipath::keys::Keys;
use crate::multipath::sending::Sending;
use crate::multipath::{Dialect, MultipathConfig};
use crate::{Config, ConfigError, ConnectionError, Role};

/// Time limit of closing, in maximum segment lifetimes (RFC 4340, Section 8.3).
const LIMIT_IN_MSL: u64 = 4;

/// Progress of a multipath connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The first handshake is under way.
    Opening,
    /// Both ends use the extensions.
    Multipath,
    /// The connection is a regular one.
    Regular,
    /// The connection is being closed.
    Closing {
        /// Progress of closing.
        step: ClosingStep,
        /// `true` if the peer requested it.
        by_peer: bool,
    },
    /// The connection has ended: only the subflows' last packets follow.
    Over,
}

/// Progress of closing a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClosingStep {
    /// The application has requested it: the send queue empties, and data under way are acknowledged.
    Finishing,
    /// A CloseReq has arrived: the answer waits for data under way.
    Answering,
    /// A Close or CloseReq was sent on all subflows.
    Begun,
    /// A subflow has been closed: data of the peer may be under way on others, at most until that time.
    Receiving(Instant),
}

/// The identity of a multipath connection: identifiers and keys of both ends.
#[derive(Debug)]
pub(super) struct Identity {
    /// This end's role in the first handshake.
    pub(super) role: Role,
    /// The Connection Identifier of this end.
    pub(super) own: u32,
    /// The peer's; 0 before it is known.
    pub(super) peer: u32,
    /// The DCCP ports of this end and of the peer on the first subflow.
    pub(super) ports: [u16; 2],
    /// The keys offered by this end, until one is selected.
    pub(super) offered: SmallVec<[Key; 1]>,
    /// The selected keys; `None` before, and in a regular connection.
    pub(super) keys: Option<Keys>,
}

/// The state that every concern may read. Only [`MultipathConnection`](super::MultipathConnection) changes
/// it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) config: Config,
    pub(super) settings: MultipathConfig,
    pub(super) identity: Identity,
    pub(super) phase: Phase,
}

impl Context {
    /// Checks a configuration, and derives the subflows' configuration from it.
    pub(super) fn subflow_config(config: &Config, settings: &MultipathConfig) -> Result<Config, ConfigError> {
        config.validate()?;
        settings.validate()?;
        let mut inner = config.clone();
        // Section 3.7: no application data in REQUEST.
        inner.data_on_handshake = false;
        // Addresses change by subflows, and MP_SEQ gives the order.
        inner.mobility = None;
        inner.receive.reorder_delay = None;
        Ok(inner)
    }

    /// `true` if both ends use the multipath extensions.
    pub(super) fn is_multipath(&self) -> bool {
        self.identity.keys.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// `true` if an option has the form of the version in use.
    pub(super) fn is_right_form(&self, nonce: Option<u32>) -> bool {
        nonce.is_some() == (self.settings.dialect == Dialect::Rfc9897)
    }

    /// `true` if the data of MP_CLOSE or MP_FAST_CLOSE are this end's key, and the connection is not over.
    pub(super) fn may_end_by(&self, key: &[u8]) -> bool {
        self.identity.keys.as_ref().is_some_and(|keys| keys.is_own_key(key)) && !self.is_over()
    }

    /// The reason for the end of an orderly close: the end that requested it first.
    pub(super) fn closing_error(&self) -> ConnectionError {
        match self.phase {
            Phase::Closing { by_peer: false, .. } => ConnectionError::ClosedLocally,
            _ => ConnectionError::ClosedByPeer,
        }
    }

    /// Time limit of closing.
    pub(super) fn closing_limit(&self) -> Duration {
        let longest = self.config.timers.msl * LIMIT_IN_MSL;
        self.config.timers.close.map_or(longest, |limit| limit.min(longest))
    }

    /// An option with the peer's key: `make` of it. `None` in a regular connection.
    pub(super) fn with_peer_key<T: From<MultipathOption>>(
        &self,
        make: fn(whimbrel_wire::OptionBytes) -> MultipathOption,
    ) -> Option<T> {
        self.identity.keys.as_ref().map(|keys| make(keys.peer_key()).into())
    }
}

/// The effects of the concerns: datagrams to send, events for the application, a timer, and numbers drawn.
#[derive(Debug)]
pub(super) struct Effects {
    pub(super) sending: Sending,
    pub(super) events: Events,
    pub(super) entropy: Entropy,
    /// Time at which a connection without subflows, or one that has ended, is discarded.
    pub(super) expiry: Instant,
}

impl Effects {
    pub(super) fn new(config: &Config, mut entropy: Entropy) -> Self {
        let first = SeqNo::new(entropy.number());
        Self {
            sending: Sending::new(config.send_queue, first),
            events: Events::default(),
            entropy,
            expiry: Instant::FAR_FUTURE,
        }
    }

    /// Moves the send queue's reports to the events.
    pub(super) fn report(&mut self) {
        self.sending.report(&mut self.events.queue);
    }
}
