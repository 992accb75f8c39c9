//! Configuration of a connection.

mod ccid_preference;
mod freeze;
mod requests;
mod setters;

pub use ccid_preference::CcidPreference;
pub use freeze::{FreezeConfig, Restart, RestoreLimit, Silence};
pub use requests::RequestSchedule;
use whimbrel_control::loss_detection::NDUPACK;
pub use whimbrel_control::loss_differentiation::{
    ComparedTrip, Differentiation, GuardConfig, Parameters, Scheme,
};
pub use whimbrel_control::reordering::BufferSize;
pub use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{SeqNo, ServiceCode};

pub use crate::ccid::tfrc::TfrcConfig;
use crate::ccid::{HalfConnection, Registry};
use crate::error::check;
use crate::send_queue::SendQueueConfig;
use crate::{Ccid, ConfigError};

/// Least Sequence Window (RFC 4340, Section 7.5.2).
pub(crate) const MIN_SEQUENCE_WINDOW: u64 = 32;
/// Greatest Sequence Window (RFC 4340, Section 7.5.2).
pub(crate) const MAX_SEQUENCE_WINDOW: u64 = (1 << 46) - 1;

/// The largest value of the CsCov field.
pub(crate) const MAX_COVERAGE: u8 = 15;

/// Upper bound on D_max: longer than the delay variation of any link, and a bound on memory.
const MAX_REORDER_DELAY: Duration = Duration::from_secs(60);

/// Configuration of a connection. [`Config::default`] suits live media.
///
/// Fields can be assigned, or set by chainable methods of the same names; the same holds for the nested
/// configurations.
///
/// ```
/// use whimbrel_proto::config::TimerConfig;
/// use whimbrel_proto::{Ccid, Config};
/// use whimbrel_units::Duration;
///
/// let timers = TimerConfig::default().idle(Some(Duration::from_secs(10)));
/// let mut config = Config::default().sender_ccids(Ccid::TCP_LIKE).timers(timers);
/// config.ecn = false;
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The Service Code that a client requests, or that a server serves.
    pub service_code: ServiceCode,
    /// CCIDs for the data that this end sends, in order of preference.
    pub sender_ccids: CcidPreference,
    /// CCIDs for the data that this end receives, in order of preference.
    pub receiver_ccids: CcidPreference,
    /// The available congestion control mechanisms. Preferences name only CCIDs of this registry.
    pub ccids: Registry,
    /// `true` to send data packets as ECT(0) and to request marks (ECN Incapable = 0).
    pub ecn: bool,
    /// Bounds of the send queue.
    pub send_queue: SendQueueConfig,
    /// The largest application datagram, in bytes, before path MTU discovery lowers it.
    pub max_datagram: usize,
    /// Path MTU discovery of this connection.
    pub path_mtu: PathMtuDiscovery,
    /// Initial Sequence Window of each half-connection, in packets (RFC 4340, Section 7.5.2).
    pub sequence_window: u64,
    /// Behaviour over a handover.
    pub freeze: FreezeConfig,
    /// Timers and time limits.
    pub timers: TimerConfig,
    /// `true` if a closing server has the client hold TIMEWAIT (CloseReq); `false` if it holds TIMEWAIT
    /// itself (Close).
    pub server_sends_close_request: bool,
    /// `true` if the first datagram may be sent on the Request or the Response, and such a datagram is
    /// accepted (RFC 4340, Sections 8.1.1 and 8.1.3). It is sent before any congestion control.
    pub data_on_handshake: bool,
    /// `true` to negotiate 24-bit sequence numbers on Data, Ack and DataAck packets: shorter headers, but
    /// less protection against injected packets (RFC 4340, Section 7.6). If `false`, the peer is not allowed
    /// to send them either.
    pub short_sequence_numbers: bool,
    /// Handling of received datagrams.
    pub receive: ReceiveConfig,
    /// Protection of application data against corruption.
    pub integrity: IntegrityConfig,
    /// Address changes of the client during the connection, if the peer agrees (the experimental scheme of
    /// `docs/mobility.md`). `None`: packets from another address do not belong to the connection.
    pub mobility: Option<MobilityConfig>,
    /// `true` to offer the feature Repair: a layer above the connection repairs lost datagrams within a
    /// latency budget, if the peer has one as well ([`RepairLayer`](crate::repair::RepairLayer)).
    pub repair: bool,
    /// With `repair`: datagrams go in parts with checksums of their own, if the peer's do as well, so that
    /// those that the path damages are of use. The checksum coverage ([`IntegrityConfig`]) decides which of
    /// them arrive.
    pub repair_in_parts: bool,
}

/// Handling of a client's change of address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MobilityConfig {
    /// Treatment of a server's path state once the client has moved to another IP address. If only the port
    /// changed, as behind a NAT that lost its mapping, the state is kept. The driver of a client makes this
    /// decision itself ([`Connection::path_changed`](crate::Connection::path_changed)).
    pub on_move: PathChange,
}

/// Packetization-layer path MTU discovery (RFC 8899), by probes once the connection is open.
/// [`Config::max_datagram`] is the size searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PathMtuDiscovery {
    /// The driver's default: sockets use [`PathMtuDiscovery::FromLargest`], simulations
    /// [`PathMtuDiscovery::Off`].
    #[default]
    Automatic,
    /// No probes: the driver reports the path MTU that it learns.
    Off,
    /// Starts from datagrams of 1148 bytes, packets of 1200, and searches upwards (RFC 8899, Section 5.2).
    FromBase,
    /// Starts from the largest size and searches downwards if packets of that size do not arrive (RFC 4340,
    /// Section 14.1). On a path with a smaller MTU, datagrams are lost until then, for about three seconds.
    FromLargest,
}

/// The rule by which a missing packet is declared lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LossDetection {
    /// On leaving the reorder buffer ([`ReceiveConfig::reorder_delay`]), as in `papers/reorder`. Without a
    /// buffer as `Rack` if [repair](Config::repair) is offered, which orders datagrams itself, and as
    /// `Packets` otherwise.
    #[default]
    Automatic,
    /// After three packets with higher numbers (RFC 5348, Section 5.1), even if datagrams wait in a reorder
    /// buffer.
    Packets,
    /// After a single packet with a higher number, as in ns-2's TFRC: for comparison, as every overtaken
    /// packet counts as lost.
    FirstPacket,
    /// As `Packets` until a packet arrives out of order; then after a time that adapts to the measured
    /// reordering, as in [RACK](whimbrel_control::reordering::ReorderWindow) (RFC 8985). Data is not
    /// delayed. An experiment.
    Rack,
}

/// Handling of received datagrams.
///
/// The limits apply to the connection's own queue, from which
/// [`Connection::poll_event`](crate::Connection::poll_event) takes. A datagram that exceeds them is dropped
/// and reported to the peer (RFC 4340, Section 11.7, Drop Code 2). A driver with a queue of its own reports
/// what it drops with
/// [`Connection::datagram_discarded`](crate::Connection::datagram_discarded).
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct ReceiveConfig {
    /// Maximum number of datagrams that wait for the application.
    pub max_datagrams: usize,
    /// Maximum number of bytes of application data that wait for the application.
    pub max_bytes: usize,
    /// `true` to deliver data known to be corrupt, as
    /// [`Event::CorruptDatagram`](crate::Event::CorruptDatagram), rather than to drop them (RFC 4340, Section
    /// 9.3).
    pub deliver_corrupt: bool,
    /// D_max: the longest time for which a datagram that arrives early waits for the preceding ones; at most
    /// a minute. Datagrams are then delivered in the order in which they were sent; `late` applies to those
    /// that arrive after D_max. CCIDs 3 and 4 declare no packet lost earlier, unless
    /// [`ReceiveConfig::loss_detection`] says otherwise. `None`: no reorder buffer. See `docs/reordering.md`.
    pub reorder_delay: Option<Duration>,
    /// Q: the maximum number of packets in the reorder buffer, if `reorder_delay` is given. `max_datagrams`
    /// and `max_bytes` apply as well.
    pub reorder_size: BufferSize,
    /// `true` if D_max follows the measured lateness of packets
    /// ([`LatenessMeter::delay`](whimbrel_control::reordering::LatenessMeter::delay)), between a quarter of
    /// the round-trip time and `reorder_delay`. A lost datagram then delays the following ones no longer than
    /// the path's reordering requires.
    pub reorder_adapts: bool,
    /// Treatment of datagrams that arrive later than D_max.
    pub late: LatePolicy,
    /// The rule by which congestion control declares a missing packet lost. The time for which
    /// the application waits for a missing datagram is `reorder_delay`.
    pub loss_detection: LossDetection,
}

/// Treatment of a datagram that arrives after the reorder buffer has stopped waiting for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LatePolicy {
    /// The packet is discarded and counts as lost (`papers/reorder`, Section II.B), even with
    /// [`TfrcConfig::forgive_late`]: the sender adapts to what the application receives.
    #[default]
    Discard,
    /// The packet is delivered out of order, and its loss is revoked if [`TfrcConfig::forgive_late`] is set.
    /// For applications that can use late data, such as a decoder that repairs its reference frames.
    Deliver,
}

/// Treatment of the path state when packets take another path: the round-trip time, the packet size, and the
/// state of congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathChange {
    /// Everything is kept but the packet size, which is verified first: only the address has changed, or the
    /// driver handles the change.
    Keep,
    /// Everything starts as on a new connection (RFC 9000, Section 9.4). The send queue and negotiated
    /// features are kept.
    #[default]
    Reset,
    /// As `Reset`, but if the connection used that path before, its state is restored: the round-trip time
    /// and the packet size, half the rate or window, and the loss event rate.
    Restore,
}

/// Protection of application data against corruption (RFC 4340, Section 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct IntegrityConfig {
    /// Checksum Coverage of data packets, if the peer agrees and the datagram is long enough: 0 covers all
    /// data, 1 to 15 the first `4 * (n - 1)` bytes (Section 9.2).
    pub checksum_coverage: u8,
    /// Minimum acceptable Checksum Coverage: 0 accepts only full coverage, 1 to 15 also that coverage or more
    /// (Section 9.2.1).
    pub minimum_coverage: u8,
    /// Use of the Data Checksum option on sent data.
    pub data_checksum: DataChecksumUse,
}

/// Use of the Data Checksum option, a CRC over the data, on sent data. Received ones are always verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DataChecksumUse {
    /// Not sent.
    #[default]
    Off,
    /// Sent, and the peer is asked to verify it.
    Offer,
    /// Sent; a peer that does not verify it gets no connection (RFC 4340, Section 9.3.1).
    Require,
}

/// Timers and time limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimerConfig {
    /// Time after which a client stops retransmitting its Request (RFC 4340, Section 8.1.1: 3 minutes is the
    /// example).
    pub connect: Duration,
    /// Intervals between a client's Requests.
    pub requests: RequestSchedule,
    /// Maximum Segment Lifetime; TIMEWAIT lasts twice as long (RFC 4340, Section 3.4).
    pub msl: Duration,
    /// The idle limit: once connected, an end that receives no valid packet for this long resets the
    /// connection ([`ConnectionError::TimedOut`](crate::ConnectionError::TimedOut)). After half of that time
    /// it sends Syncs, which every DCCP end answers (RFC 4340, Section 7.5.4), so that a live peer with
    /// nothing to send is not disconnected, regardless of its own configuration. `None`: only the timers of
    /// RFC 4340 end a connection.
    pub idle: Option<Duration>,
    /// Time without sending after which a connected end sends an acknowledgement, to keep the mappings of
    /// NATs on the path. UDP mappings last two minutes and more where NATs follow RFC 4787, Section 4.3, some
    /// only 30 s; RFC 8085, Section 3.5 requires at least 15 s between keep-alives. `None`: never.
    pub keep_alive: Option<Duration>,
    /// Time limit of closing, from the call of [`Connection::close`](crate::Connection::close), including the
    /// transmission of queued datagrams. On expiry the connection is reset, and queued datagrams are dropped.
    /// `None`: four times the MSL, as for the other states that wait for the peer (RFC 4340, Section 8.1.5),
    /// which is also the upper bound.
    pub close: Option<Duration>,
}

impl TimerConfig {
    /// The timers of RFC 4340 alone: Requests at its intervals, no idle limit, no keep-alive, and up to four
    /// MSL for closing. For simulations, in which peers do not disappear unexpectedly.
    pub fn rfc4340() -> Self {
        Self {
            requests: RequestSchedule::RFC4340,
            idle: None,
            keep_alive: None,
            close: None,
            ..Self::default()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service_code: ServiceCode(0),
            sender_ccids: [Ccid::TFRC, Ccid::TCP_LIKE].into(),
            receiver_ccids: [Ccid::TFRC, Ccid::TCP_LIKE].into(),
            ccids: Registry::default(),
            ecn: true,
            send_queue: SendQueueConfig::default(),
            max_datagram: 1400,
            path_mtu: PathMtuDiscovery::Automatic,
            sequence_window: 100,
            freeze: FreezeConfig::default(),
            timers: TimerConfig::default(),
            server_sends_close_request: true,
            data_on_handshake: false,
            short_sequence_numbers: false,
            receive: ReceiveConfig::default(),
            integrity: IntegrityConfig::default(),
            mobility: None,
            repair: false,
            repair_in_parts: false,
        }
    }
}

impl Config {
    /// `true` if received packets wait for the preceding ones, for delivery or for loss detection.
    pub fn orders_arrivals(&self) -> bool {
        self.receive.reorder_delay.is_some() || self.detects_by_time()
    }

    /// `true` if a missing packet is lost after a time that adapts to the measured reordering.
    pub(crate) fn detects_by_time(&self) -> bool {
        match self.receive.loss_detection {
            LossDetection::Rack => true,
            LossDetection::Automatic => self.repair && self.receive.reorder_delay.is_none(),
            LossDetection::Packets | LossDetection::FirstPacket => false,
        }
    }

    /// `true` if a packet counts as lost when it leaves the reorder buffer.
    pub(crate) fn detects_by_delivery(&self) -> bool {
        self.receive.reorder_delay.is_some() && self.receive.loss_detection == LossDetection::Automatic
    }

    /// `true` if losses are detected in order of sequence numbers, after a time, rather than on arrival.
    pub(crate) fn detects_in_order(&self) -> bool {
        self.detects_by_delivery() || self.detects_by_time()
    }

    /// Number of packets with higher numbers after which a missing packet is lost; one, if packets were
    /// resequenced before.
    pub(crate) fn loss_threshold(&self) -> usize {
        let one = self.detects_in_order() || self.receive.loss_detection == LossDetection::FirstPacket;
        if one { 1 } else { NDUPACK }
    }

    /// Context of a half-connection that starts under this configuration.
    pub fn half_connection(
        &self,
        now: Instant,
        packet_size: usize,
        rtt: Option<Duration>,
        next_sequence: SeqNo,
    ) -> HalfConnection {
        HalfConnection {
            now,
            packet_size,
            max_datagram: self.max_datagram,
            rtt,
            next_sequence,
            loss_threshold: self.loss_threshold(),
            is_ordered: self.detects_in_order(),
            freeze: self.freeze.control(),
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    ///
    /// The first field with an invalid value.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (field, preference) in
            [("sender_ccids", &self.sender_ccids), ("receiver_ccids", &self.receiver_ccids)]
        {
            check(!preference.is_empty(), field, 0, "at least one CCID")?;
            for ccid in preference {
                let known = self.ccids.mechanism(*ccid).is_some();
                check(known, field, ccid.0.into(), "a CCID of the registry")?;
            }
        }
        // RFC 4340, Section 8.1.2.
        let code = self.service_code.0;
        check(code != u32::MAX, "service_code", code.into(), "not 4294967295, which is invalid")?;
        let window = self.sequence_window;
        check(
            (MIN_SEQUENCE_WINDOW..=MAX_SEQUENCE_WINDOW).contains(&window),
            "sequence_window",
            window,
            "32 to 2^46 - 1 (RFC 4340, Section 7.5.2)",
        )?;
        let queue = &self.send_queue;
        check(queue.max_datagrams > 0, "send_queue.max_datagrams", 0, "at least 1")?;
        check(queue.max_bytes > 0, "send_queue.max_bytes", 0, "at least 1")?;
        check(
            (1..=65_535).contains(&self.max_datagram),
            "max_datagram",
            self.max_datagram as u64,
            "1 to 65535 bytes",
        )?;
        let receive = &self.receive;
        check(receive.max_datagrams > 0, "receive.max_datagrams", 0, "at least 1")?;
        check(receive.max_bytes > 0, "receive.max_bytes", 0, "at least 1")?;
        check(
            receive.reorder_delay.is_none_or(|delay| !delay.is_zero() && delay <= MAX_REORDER_DELAY),
            "receive.reorder_delay",
            receive.reorder_delay.map_or(0, |delay| delay.as_nanos()),
            "more than 0 and at most a minute, in nanoseconds",
        )?;
        check(receive.reorder_size != BufferSize::Fixed(0), "receive.reorder_size", 0, "at least 1 packet")?;
        for (field, coverage) in [
            ("integrity.checksum_coverage", self.integrity.checksum_coverage),
            ("integrity.minimum_coverage", self.integrity.minimum_coverage),
        ] {
            check(coverage <= MAX_COVERAGE, field, coverage.into(), "0 to 15 (RFC 4340, Section 9.2)")?;
        }
        self.ccids.validate()?;
        self.freeze.validate()?;
        check(!self.timers.connect.is_zero(), "timers.connect", 0, "a time")?;
        self.timers.requests.validate()?;
        check(!self.timers.msl.is_zero(), "timers.msl", 0, "a time")?;
        check(
            self.timers.idle.is_none_or(|idle| !idle.is_zero()),
            "timers.idle",
            0,
            "a positive duration, or none",
        )?;
        let keep_alive = self.timers.keep_alive;
        check(
            keep_alive.is_none_or(|time| !time.is_zero()),
            "timers.keep_alive",
            0,
            "a positive duration, or none",
        )?;
        check(
            self.timers.close.is_none_or(|time| !time.is_zero()),
            "timers.close",
            0,
            "a positive duration, or none",
        )
    }
}

impl Default for ReceiveConfig {
    fn default() -> Self {
        Self {
            max_datagrams: 4096,
            max_bytes: 16 << 20,
            deliver_corrupt: false,
            reorder_delay: None,
            reorder_size: BufferSize::Dynamic,
            reorder_adapts: false,
            late: LatePolicy::Discard,
            loss_detection: LossDetection::Automatic,
        }
    }
}

impl Default for TimerConfig {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(180),
            requests: RequestSchedule::default(),
            msl: Duration::from_secs(120),
            // NATs usually keep UDP mappings for at least 30 s; the limit tolerates the loss of two
            // keep-alives.
            idle: Some(Duration::from_secs(60)),
            keep_alive: Some(Duration::from_secs(20)),
            close: Some(Duration::from_secs(30)),
        }
    }
}

#[cfg(test)]
mod tests;
