//! Which congestion controls there are.
//!
//! A connection's [`Config`] holds a [`Registry`] of [`Mechanism`]s, so a CCID of one's own (248 to
//! 254, RFC 4340, Section 19.5) needs no change here: write an [`HcSender`], an [`HcReceiver`] and a
//! [`Mechanism`] that makes them, and add it with [`Registry::with`].

use core::fmt;
use std::sync::Arc;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

use super::ccid2::Ccid2;
use super::ccid3::Ccid3;
use super::ccid4::Ccid4;
use super::{Ccid, HcReceiver, HcSender};
use crate::Config;
use crate::feature::{self, CcidProfile};

#[cfg(test)]
mod tests;

/// What is known when one end of a half-connection starts.
#[derive(Clone, Copy, Debug)]
pub struct HalfConnection<'a> {
    /// The connection's configuration.
    pub config: &'a Config,
    /// The time.
    pub now: Instant,
    /// Application data per packet that is expected, in bytes.
    pub packet_size: usize,
    /// The round-trip time, if the handshake measured it.
    pub rtt: Option<Duration>,
    /// The number of the half-connection's next packet: for a sender the next it will send, for a
    /// receiver the next it expects.
    pub next_sequence: SeqNo,
}

/// One congestion control mechanism: the constructors of its two ends, and what they need negotiated.
pub trait Mechanism: fmt::Debug + Send + Sync {
    /// Which CCID it is.
    fn ccid(&self) -> Ccid;
    /// The end that sends data.
    fn sender(&self, half: &HalfConnection<'_>) -> Box<dyn HcSender>;
    /// The end that sends feedback.
    fn receiver(&self, half: &HalfConnection<'_>) -> Box<dyn HcReceiver>;
    /// The options and features that it defines and needs.
    fn profile(&self) -> CcidProfile {
        feature::profile(self.ccid())
    }
}

/// The congestion controls that a connection can use.
#[derive(Clone)]
pub struct Registry(Arc<[Arc<dyn Mechanism>]>);

impl Registry {
    /// No congestion control at all.
    pub fn empty() -> Self {
        Self(Arc::from(Vec::new()))
    }
    /// This registry with one more mechanism, in the place of one with the same number.
    #[must_use]
    pub fn with(&self, mechanism: impl Mechanism + 'static) -> Self {
        let ccid = mechanism.ccid();
        let others = self.0.iter().filter(|other| other.ccid() != ccid).cloned();
        Self(others.chain([Arc::new(mechanism) as Arc<dyn Mechanism>]).collect())
    }
    /// The mechanism with that number.
    pub fn mechanism(&self, ccid: Ccid) -> Option<&dyn Mechanism> {
        self.0.iter().find(|mechanism| mechanism.ccid() == ccid).map(|mechanism| &**mechanism)
    }
    /// The numbers it knows.
    pub fn ccids(&self) -> impl Iterator<Item = Ccid> + '_ {
        self.0.iter().map(|mechanism| mechanism.ccid())
    }
}

impl Default for Registry {
    /// The CCIDs of this crate: 2, 3 and 4.
    fn default() -> Self {
        Self::empty().with(Ccid2::default()).with(Ccid3).with(Ccid4)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ccids()).finish()
    }
}

/// Two registries are equal if they know the same numbers.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        self.ccids().eq(other.ccids())
    }
}
