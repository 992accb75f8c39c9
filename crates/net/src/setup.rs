//! The configuration of a connection and what secures it.

use std::net::SocketAddr;

use whimbrel_proto::Config;
use whimbrel_proto::config::{Differentiation, Scheme, Silence};
use whimbrel_proto::multipath::{MultipathConfig, SchedulerKind};
use whimbrel_proto::repair::RepairConfig;
use whimbrel_units::Duration;

use crate::NetError;
use crate::dtls::Security;
use crate::layers::Above;

/// Datagrams of repair itself in the connection's queue at a time: a few, and reports.
const ABOVE: usize = 8;
/// Checksum coverage of the head of a datagram in parts, 32 bytes (RFC 4340, Section 9.2): of up to seven
/// parts, at most 29.
const HEAD_COVERAGE: u8 = 9;
/// Time without packets that counts as an outage of a repaired stream: several reports are missing.
const OUTAGE: Silence = Silence::Time(Duration::from_millis(300));

/// The configuration of a connection, or of a listener's connections, and what secures them.
///
/// A [`Config`] alone is one without security: data travels in the clear. With [`Setup::secured`] it is
/// encrypted by DTLS 1.3 over DCCP (RFC 5238), and both ends authenticate each other before
/// [`Socket::connect`](crate::Socket::connect) and [`Listener::accept`](crate::Listener::accept) return.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) config: Config,
    pub(crate) above: Above,
    pub(crate) paths: Option<OverPaths>,
}

/// Several paths of a connection.
#[derive(Clone, Debug)]
pub(crate) struct OverPaths {
    pub(crate) settings: MultipathConfig,
    pub(crate) locals: Vec<SocketAddr>,
}

impl Setup {
    /// A connection secured by `security`. RFC 5238, Section 3.6: its Service Code should differ from the
    /// code of the same application without DTLS, so that ends that disagree notice at once.
    pub fn secured(config: Config, security: Security) -> Self {
        Self::new(config, Some(security))
    }

    /// A connection secured by `security` if there is one.
    pub fn new(config: Config, security: Option<Security>) -> Self {
        Self { config, above: Above { security, repair: None }, paths: None }
    }

    /// The same over several paths (MP-DCCP, RFC 9897), if the peer takes part; otherwise over one.
    ///
    /// A client has a path from each of the local addresses `locals`, each of which should be one of its own
    /// interface; the first one carries the handshake, and the others join afterwards. Where there are none,
    /// the system chooses the first, and [`Socket::join`](crate::Socket::join) adds others. A server is
    /// reached at its own address and at each of `locals`, and accepts connections over one path as well.
    ///
    /// [`SchedulerKind::Coded`] needs [repair](Self::repaired): without it, connecting and listening fail.
    #[must_use]
    pub fn over_paths(self, locals: impl IntoIterator<Item = SocketAddr>, settings: MultipathConfig) -> Self {
        Self { paths: Some(OverPaths { settings, locals: locals.into_iter().collect() }), ..self }
    }

    /// The same with repair of lost datagrams within a latency budget, if the peer has it as well. Datagrams
    /// are delivered in order. Losses are classified, by `standing` unless the configuration names another
    /// scheme: parity repairs only losses on a radio. A silence of 300 ms, unless the configuration names
    /// another one, counts as an outage, after which the rate is what it was before, and CCID 3 [follows a
    /// fade](whimbrel_proto::config::TfrcConfig::follow_fades).
    ///
    /// With [`RepairConfig::in_parts`], DCCP's checksum covers headers only, unless the configuration says
    /// otherwise. Damaged packets arrive over IP alone, where the link delivers them: UDP's checksum covers
    /// all. DTLS rejects them: with security, that is an error of the connection or listener.
    #[must_use]
    pub fn repaired(self, repair: RepairConfig) -> Self {
        let above = Above { repair: Some(repair), ..self.above };
        let mut config = self.config.repair(true).repair_in_parts(repair.in_parts);
        if repair.in_parts {
            let integrity = &mut config.integrity;
            for coverage in [&mut integrity.checksum_coverage, &mut integrity.minimum_coverage] {
                *coverage = if *coverage == 0 { HEAD_COVERAGE } else { *coverage };
            }
        }
        config.tune_tfrc(|tfrc| {
            tfrc.differentiation.get_or_insert(Differentiation::guarded(Scheme::Standing));
            tfrc.follow_fades = true;
        });
        config.freeze.silence.get_or_insert(OUTAGE);
        Self { config, above, ..self }
    }

    /// The same with [repair](Self::repaired), if a latency is given: datagrams are delivered in order, and
    /// at most that much later than the fastest ones arrive.
    #[must_use]
    pub fn with_latency(self, latency: Option<Duration>) -> Self {
        match latency {
            Some(latency) => {
                let queue = self.config.send_queue.max_datagrams;
                let repaired = self.repaired(RepairConfig { queue, ..RepairConfig::new(latency) });
                // Datagrams queued above move to the connection's own queue at close, behind those there.
                repaired.map_config(|config| {
                    let send_queue = config.send_queue.max_datagrams(queue + ABOVE);
                    config.send_queue(send_queue)
                })
            }
            None => self,
        }
    }

    /// The same with other parameters of repair, if there is repair.
    #[must_use]
    pub fn map_repair(mut self, change: impl FnOnce(RepairConfig) -> RepairConfig) -> Self {
        self.above.repair = self.above.repair.map(change);
        self
    }

    /// Checks what cannot be together.
    pub(crate) fn check(&self) -> Result<(), NetError> {
        let uses_damaged = self.above.repair.is_some_and(|repair| repair.in_parts);
        if uses_damaged && self.above.security.is_some() {
            let text =
                "repair.in_parts: DTLS rejects damaged packets, expected a connection without security";
            return Err(NetError::Config(text.into()));
        }
        let scheduler = self.paths.as_ref().map(|paths| paths.settings.scheduler);
        if scheduler == Some(SchedulerKind::Coded) && self.above.repair.is_none() {
            let text = "scheduler = \"coded\": expected a connection with repair (a latency above 0), whose \
                        repeats and coded packets it spreads, or another scheduler";
            return Err(NetError::Config(text.into()));
        }
        Ok(())
    }

    /// The same with the local addresses of the family of `remote` alone.
    pub(crate) fn limited_to_family(mut self, remote: SocketAddr) -> Result<Self, NetError> {
        if let Some(paths) = self.paths.as_mut().filter(|paths| !paths.locals.is_empty()) {
            paths.locals.retain(|local| local.is_ipv4() == remote.is_ipv4());
            if paths.locals.is_empty() {
                return Err(NetError::Config(format!("{remote}: expected a local address of its family")));
            }
        }
        Ok(self)
    }

    /// The local addresses of its paths.
    pub(crate) fn locals(&self) -> &[SocketAddr] {
        self.paths.as_ref().map_or(&[], |paths| &paths.locals)
    }

    /// The same with another configuration.
    #[must_use]
    pub fn map_config(self, change: impl FnOnce(Config) -> Config) -> Self {
        Self { config: change(self.config), ..self }
    }
}

impl From<Config> for Setup {
    fn from(config: Config) -> Self {
        Self::new(config, None)
    }
}
