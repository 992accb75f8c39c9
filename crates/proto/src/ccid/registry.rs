//! The congestion control mechanisms available to a connection.
//!
//! A connection's [`Config`](crate::Config) holds a [`Registry`] of [`Mechanism`]s. To add an experimental
//! CCID (248 to 254, RFC 4340, Section 19.5), write an [`HcSender`], an [`HcReceiver`] and a [`Mechanism`]
//! that creates them, and add it with
//! [`Registry::with`]. The mechanism also declares the options and features of the CCID and the preferences
//! of each end; negotiation treats no CCID specially.

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use whimbrel_control::freeze::FreezeConfig;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::FeatureNumber;

use super::ccid2::Ccid2;
use super::tfrc::{Tfrc, TfrcConfig};
use super::{Ccid, CcidProfile, HcReceiver, HcSender, ccid3, ccid4, ccid252, window_laws};
use crate::ConfigError;

#[cfg(test)]
mod tests;

/// Context in which one end of a half-connection starts.
#[derive(Clone, Copy, Debug)]
pub struct HalfConnection {
    /// The time.
    pub now: Instant,
    /// Expected application data per packet, in bytes.
    pub packet_size: usize,
    /// The largest application datagram if the path sets no limit, in bytes.
    pub max_datagram: usize,
    /// Round-trip time of the handshake, if measured.
    pub rtt: Option<Duration>,
    /// Sequence number of the half-connection's next packet: the next to be sent for a sender, the next
    /// expected for a receiver.
    pub next_sequence: SeqNo,
    /// Number of packets with higher numbers after which a missing packet is lost.
    pub loss_threshold: usize,
    /// `true` if packets are resequenced before losses are detected.
    pub is_ordered: bool,
    /// Rules for a restart after a freeze.
    pub freeze: FreezeConfig,
}

/// An end of a half-connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HalfEnd {
    /// The end that sends the data.
    Sender,
    /// The end that receives the data and sends the feedback.
    Receiver,
}

/// The preference of one end of a half-connection for a CCID-specific feature.
///
/// CCID-specific features are server-priority (RFC 4340, Section 10.3). One numbered below 192 is located at
/// the end that sends the data, one from 192 on at the end that receives them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeaturePreference {
    /// The feature.
    pub feature: FeatureNumber,
    /// Acceptable values, in order of preference.
    pub values: Vec<u8>,
    /// `true` if this end opens the negotiation; `false` if it only responds.
    pub ask: bool,
}

impl FeaturePreference {
    /// Prefers `value` (0 or 1) of a Boolean feature, accepts the other value, and only responds.
    pub fn accept(feature: FeatureNumber, value: u8) -> Self {
        Self { feature, values: vec![value, 1 - value], ask: false }
    }

    /// Opens the negotiation of a Boolean feature with `value` (0 or 1), and accepts the other value.
    pub fn ask(feature: FeatureNumber, value: u8) -> Self {
        Self { ask: true, ..Self::accept(feature, value) }
    }

    /// Opens the negotiation and accepts nothing but `value`.
    pub fn demand(feature: FeatureNumber, value: u8) -> Self {
        Self { feature, values: vec![value], ask: true }
    }
}

/// A congestion control mechanism: constructors of its two ends, and the features that they negotiate.
pub trait Mechanism: Any + fmt::Debug + Send + Sync {
    /// The CCID.
    fn ccid(&self) -> Ccid;
    /// Name in messages.
    fn name(&self) -> &'static str {
        "an experiment"
    }

    /// Creates the end that sends data.
    fn sender(&self, half: &HalfConnection) -> Box<dyn HcSender>;
    /// Creates the end that sends feedback.
    fn receiver(&self, half: &HalfConnection) -> Box<dyn HcReceiver>;
    /// The options that the CCID defines and the common features that it needs.
    fn profile(&self) -> CcidProfile {
        CcidProfile::PLAIN
    }

    /// The CCID-specific features (numbers 128 to 255, RFC 4340, Section 10.3), each with the preference of
    /// the given end of a half-connection. A feature that is not listed does not exist under this CCID.
    fn features(&self, end: HalfEnd) -> Vec<FeaturePreference> {
        let _ = end;
        Vec::new()
    }

    /// Checks the configuration of the mechanism.
    ///
    /// # Errors
    ///
    /// The first field with an invalid value.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// The congestion control mechanisms available to a connection.
#[derive(Clone)]
pub struct Registry(Arc<[Arc<dyn Mechanism>]>);

impl Registry {
    /// A registry without mechanisms.
    pub fn empty() -> Self {
        Self(Arc::from(Vec::new()))
    }

    /// Adds a mechanism; it replaces one with the same CCID.
    #[must_use]
    pub fn with(&self, mechanism: impl Mechanism + 'static) -> Self {
        let ccid = mechanism.ccid();
        let others = self.0.iter().filter(|other| other.ccid() != ccid).cloned();
        Self(others.chain([Arc::new(mechanism) as Arc<dyn Mechanism>]).collect())
    }

    /// Adds the [experimental CCIDs with other window laws](super::window_laws).
    #[must_use]
    pub fn with_window_laws(&self) -> Self {
        window_laws::all().into_iter().fold(self.clone(), |registry, mechanism| registry.with(mechanism))
    }

    /// Adds [CCID 252](super::ccid252), delay-aware TFRC.
    #[must_use]
    pub fn with_delay_aware(&self) -> Self {
        self.with(ccid252::mechanism())
    }

    /// The CCID with that number or, in any case, that name: `3` or `TFRC`.
    pub fn parse(&self, text: &str) -> Option<Ccid> {
        let number: Option<u8> = text.parse().ok();
        let is_meant = |mechanism: &&Arc<dyn Mechanism>| match number {
            Some(number) => mechanism.ccid() == Ccid(number),
            None => mechanism.name().eq_ignore_ascii_case(text),
        };
        self.0.iter().find(is_meant).map(|mechanism| mechanism.ccid())
    }

    /// The mechanism with that number.
    pub fn mechanism(&self, ccid: Ccid) -> Option<&dyn Mechanism> {
        self.0.iter().find(|mechanism| mechanism.ccid() == ccid).map(|mechanism| &**mechanism)
    }

    /// The CCIDs of the mechanisms for which `filter` returns `true`, in order of numbers and with their
    /// names, as a message says what it expects: "2 (TCP-like), 3 (TFRC) or 4 (TFRC-SP)".
    pub fn describe(&self, filter: impl Fn(&dyn Mechanism) -> bool) -> String {
        let mut chosen: Vec<_> = self.0.iter().filter(|mechanism| filter(&***mechanism)).collect();
        chosen.sort_by_key(|mechanism| mechanism.ccid());
        let names: Vec<String> =
            chosen.iter().map(|mechanism| format!("{} ({})", mechanism.ccid().0, mechanism.name())).collect();
        match names.as_slice() {
            [] => "none".to_owned(),
            [only] => only.clone(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }

    /// The configuration of the first mechanism based on TFRC, if there is one.
    pub fn tfrc(&self) -> Option<&TfrcConfig> {
        self.0.iter().find_map(|mechanism| as_tfrc(&**mechanism)).map(|tfrc| &tfrc.config)
    }

    /// The same mechanisms, those based on TFRC with a changed configuration.
    #[must_use]
    pub fn tuned_tfrc(&self, change: impl Fn(&mut TfrcConfig)) -> Self {
        let tuned = |mechanism: &Arc<dyn Mechanism>| match as_tfrc(&**mechanism) {
            None => mechanism.clone(),
            Some(tfrc) => {
                let mut tfrc = *tfrc;
                change(&mut tfrc.config);
                Arc::new(tfrc)
            }
        };
        Self(self.0.iter().map(tuned).collect())
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.0.iter().try_for_each(|mechanism| mechanism.validate())
    }

    /// The CCIDs of the registry.
    pub fn ccids(&self) -> impl Iterator<Item = Ccid> + '_ {
        self.0.iter().map(|mechanism| mechanism.ccid())
    }
}

fn as_tfrc(mechanism: &dyn Mechanism) -> Option<&Tfrc> {
    (mechanism as &dyn Any).downcast_ref()
}

impl Default for Registry {
    /// The CCIDs of this crate: 2, 3 and 4.
    fn default() -> Self {
        Self::empty().with(Ccid2::default()).with(ccid3::mechanism()).with(ccid4::mechanism())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ccids()).finish()
    }
}

/// Two registries are equal if they hold the same mechanisms with the same configurations, as printed by
/// [`Debug`](fmt::Debug).
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || format!("{:?}", self.0) == format!("{:?}", other.0)
    }
}
