//! Configuration of multipath connections.

use core::net::{IpAddr, Ipv4Addr};

use whimbrel_control::multipath::SchedulerKind;
use whimbrel_units::Duration;
use whimbrel_wire::option::multipath::KeyType;

use crate::{ConfigError, config_setters};

/// The version of the protocol that the peer speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// RFC 9897.
    #[default]
    Rfc9897,
    /// The drafts of 2024, as in Linux kernels with MP-DCCP: the code of MP_JOIN covers the Connection
    /// Identifier and one nonce, and MP_ADDADDR and MP_REMOVEADDR have no nonce.
    ///
    /// This follows the kernels where they deviate from the drafts: each packet carries at most one signal,
    /// and each MP_CONFIRM one confirmation, which for MP_PRIO leaves on the subflow concerned; the bytes of
    /// an IPv4 address in MP_ADDADDR are in reverse order; and a datagram without data, by which a kernel
    /// sends a signal, is not delivered.
    Draft2024,
}

impl Dialect {
    /// The most signals in one packet, of up to `most`, and the most confirmations in one MP_CONFIRM.
    pub(super) fn at_most(self, most: usize) -> usize {
        match self {
            Self::Rfc9897 => most,
            // The kernels find an option by its distance from the MP_SEQ before it, and copy an MP_CONFIRM
            // into 31 bytes.
            Self::Draft2024 => most.min(1),
        }
    }

    /// An address as it is in MP_ADDADDR, or the reverse: the kernels convert the order of its bytes once too
    /// often, on hosts with the least significant byte first.
    pub(super) fn converted(self, address: IpAddr) -> IpAddr {
        match (self, address) {
            (Self::Draft2024, IpAddr::V4(address)) => {
                let [a, b, c, d] = address.octets();
                Ipv4Addr::new(d, c, b, a).into()
            }
            (_, address) => address,
        }
    }

    /// `true` if packets of data without a byte of it carry only options.
    pub(super) fn has_empty_carriers(self) -> bool {
        self == Self::Draft2024
    }
}

/// Configuration of a multipath connection. The accompanying [`Config`](crate::Config) applies to each
/// subflow, except for the reorder buffer and the bounds of the queues, which apply to the whole connection.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MultipathConfig {
    /// Chooses the path of each datagram.
    pub scheduler: SchedulerKind,
    /// Key types, in order of preference. RFC 9897, Section 4: where plain text is not acceptable, it should
    /// be left out.
    pub key_types: Vec<KeyType>,
    /// The version of the protocol.
    pub dialect: Dialect,
    /// `true` to reset the connection if the peer does not use the multipath extensions, instead of a
    /// fallback to a regular connection (RFC 9897, Section 3.6).
    pub required: bool,
    /// Maximum number of subflows. A further MP_JOIN gets Reset 9, "Too Busy" (RFC 9897, Section 3.10).
    pub max_subflows: usize,
    /// Maximum number of the peer's addresses that are remembered. Further announcements are confirmed and
    /// discarded.
    pub max_addresses: usize,
    /// Lower bound on the time after which a path without acknowledgements counts as failed.
    pub min_path_timeout: Duration,
    /// Time for which a connection without subflows waits for one, unless the peer has closed it: a path may
    /// have been left before another is available.
    pub orphan_timeout: Duration,
    /// Interval of MP_RTT options on acknowledgements of data; `None`: none are sent.
    pub rtt_interval: Option<Duration>,
}

impl Default for MultipathConfig {
    fn default() -> Self {
        Self {
            scheduler: SchedulerKind::default(),
            key_types: vec![KeyType::PlainText],
            dialect: Dialect::default(),
            required: false,
            max_subflows: 8,
            max_addresses: 8,
            min_path_timeout: Duration::from_millis(200),
            orphan_timeout: Duration::from_secs(60),
            rtt_interval: None,
        }
    }
}

config_setters!(MultipathConfig {
    scheduler: SchedulerKind,
    key_types: Vec<KeyType>,
    dialect: Dialect,
    required: bool,
    max_subflows: usize,
    max_addresses: usize,
    min_path_timeout: Duration,
    orphan_timeout: Duration,
    rtt_interval: Option<Duration>,
});

impl MultipathConfig {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// There is no key type, or a limit is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = crate::error::check;
        check(!self.key_types.is_empty(), "key_types", 0, "at least one key type")?;
        let most = whimbrel_control::multipath::MAX_PATHS;
        let subflows = self.max_subflows;
        check((1..=most).contains(&subflows), "max_subflows", subflows as u64, "1 to 32")?;
        let addresses = self.max_addresses;
        check(addresses <= 255, "max_addresses", addresses as u64, "at most 255")?;
        let timeout = self.min_path_timeout;
        check(!timeout.is_zero(), "min_path_timeout", timeout.as_nanos(), "a positive time")
    }
}
