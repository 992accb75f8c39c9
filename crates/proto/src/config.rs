//! What an application chooses about a connection.

mod ccid_preference;
mod freeze;
mod setters;

pub use ccid_preference::CcidPreference;
pub use freeze::{FreezeConfig, Restart, RestoreLimit, Silence};
pub use whimbrel_control::loss_differentiation::{
    ComparedTrip, Differentiation, GuardConfig, Parameters, Scheme,
};
pub use whimbrel_control::reordering::BufferSize;
use whimbrel_control::tfrc::loss_detection::NDUPACK;
pub use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout};
use whimbrel_units::Duration;
use whimbrel_wire::ServiceCode;

use crate::ccid::Registry;
use crate::connection::{MAX_SEQUENCE_WINDOW, MIN_SEQUENCE_WINDOW, PathChange};
use crate::send_queue::SendQueueConfig;
use crate::{Ccid, ConfigError};

/// The largest value of the CsCov field.
pub(crate) const MAX_COVERAGE: u8 = 15;

/// The longest that a datagram may wait for those before it: longer than any medium bears, and a bound on memory.
const MAX_REORDER_DELAY: Duration = Duration::from_secs(60);

/// What an application chooses about a connection. [`Config::default`] suits live media.
///
/// Fields are set in place, or by setters of their names, which can be chained; so are those of the configurations in it.
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
    /// What the client asks for, and what a server serves.
    pub service_code: ServiceCode,
    /// CCIDs for the data this end sends, best first.
    pub sender_ccids: CcidPreference,
    /// CCIDs for the data this end receives, best first.
    pub receiver_ccids: CcidPreference,
    /// The congestion controls that there are. Preferences name only CCIDs it knows.
    pub ccids: Registry,
    /// Whether data packets are sent as ECT(0) and marks are asked for (ECN Incapable = 0).
    pub ecn: bool,
    /// The send queue's bounds.
    pub send_queue: SendQueueConfig,
    /// The largest application datagram, in bytes, before path MTU knowledge lowers it.
    pub max_datagram: usize,
    /// Whether the connection finds out by itself how large packets may be.
    pub path_mtu: PathMtuDiscovery,
    /// The first Sequence Window of each half-connection, in packets (RFC 4340, Section 7.5.2).
    pub sequence_window: u64,
    /// Details of rate-based congestion control.
    pub tfrc: TfrcConfig,
    /// What happens over a handover.
    pub freeze: FreezeConfig,
    /// How long things may take.
    pub timers: TimerConfig,
    /// Whether a server that closes asks the client to keep TIMEWAIT (CloseReq) or keeps it itself (Close).
    pub server_sends_close_request: bool,
    /// Whether the first datagram may travel on the Request or the Response, and such a datagram is
    /// taken (RFC 4340, Sections 8.1.1 and 8.1.3). It is sent before any congestion control.
    pub data_on_handshake: bool,
    /// Whether to negotiate 24-bit sequence numbers on Data, Ack and DataAck: shorter headers, less
    /// protection against injected packets (RFC 4340, Section 7.6). Without it the other end is
    /// not allowed to send them, either.
    pub short_sequence_numbers: bool,
    /// What happens to datagrams that arrive.
    pub receive: ReceiveConfig,
    /// How application data are protected against corruption.
    pub integrity: IntegrityConfig,
    /// Whether the client's address may change while the connection goes on, if the other end agrees: by the
    /// scheme of `docs/mobility.md`, an experiment. `None`: an end elsewhere is a stranger.
    pub mobility: Option<MobilityConfig>,
}

/// How a client may change its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MobilityConfig {
    /// What a server does with its knowledge of the path once its client is at another IP address; where only the
    /// port is another, as behind a NAT that forgot the old one, it keeps it. A client's driver decides for
    /// itself ([`Connection::path_changed`](crate::Connection::path_changed)).
    pub on_move: PathChange,
}

/// Whether a connection finds out by itself how large packets may be on its path (RFC 8899), by
/// probes once it is open. [`Config::max_datagram`] is what it looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PathMtuDiscovery {
    /// As suits the driver: sockets do as with [`PathMtuDiscovery::FromLargest`], simulations do not.
    #[default]
    Automatic,
    /// It does not: the driver tells what it hears.
    Off,
    /// It begins with datagrams of 1148 bytes, packets of 1200, and goes up (RFC 8899, Section 5.2).
    FromBase,
    /// It begins with the largest, sees whether they arrive, and goes down if they do not (RFC 4340,
    /// Section 14.1). On a narrow path datagrams are lost until then, for about three seconds.
    FromLargest,
}

/// Details of CCID 3.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct TfrcConfig {
    /// Reduce oscillations by the square root of recent RTTs, which RFC 5348, Section 4.5, recommends. Off by default.
    ///
    /// On a drop-tail link of 4 Mbit/s with a path of 50 ms and queues of 10, 25 and 200 packets, damping makes the delay of a CCID 3
    /// stream alone, or of two, vary 2 to 7 times less, and a quarter to nine tenths fewer packets get lost, as the recommendation
    /// promises. But the rate then stays where it just fills the queue: the mean delay of a stream alone rises from 36, 50 and
    /// 276 to 41, 70 and 368 ms, and at the queue of 25 packets a TCP flow beside it is left 0.40 instead of 0.75 Mbit/s.
    /// Goodput alone does not change. The section itself warns of paths whose round-trip time does not follow the queue, such as
    /// radio links. Streams that want an even delay more than a short one should turn it on.
    pub oscillation_damping: bool,
    /// After an idle or a data-limited time, go up to a rate that recently worked by fours instead of by twos;
    /// how long a rate is trusted in full (its DecayTime; two minutes are the draft's). Off without.
    /// [An experiment](whimbrel_control::tfrc::faster_restart), at the sender alone.
    pub faster_restart: Option<Duration>,
    /// Ask the receiver for Loss Event Rate options besides Loss Intervals (RFC 4342, Section 8.4).
    pub send_loss_event_rate: bool,
    /// Send the sender's round-trip time to the receiver (RFC 6323).
    pub send_rtt_estimate: bool,
    /// As a receiver of data, tell losses on a radio from those to congestion, and treat the former as if
    /// the packets had arrived (Cen, Cosman and Voelker, Section 1). Each verdict is an
    /// [`Event::LossClassified`](crate::Event::LossClassified). Off without.
    ///
    /// Schemes that go by trip times ask the sender of the data for timestamps; where it does not know how to send them, they
    /// take every loss for congestion.
    pub differentiation: Option<Differentiation>,
    /// As a receiver of data, take a loss back if the packet comes after all, which RFC 5348, Section 5.1, allows. On: that
    /// hides most of the harm that reordering does to a rate. Off: what has been lost stays lost, as in older
    /// implementations.
    pub forgive_late: bool,
    /// As a receiver of data, let a long lossless time take weight from what was before it (history discounting, optional in
    /// RFC 5348, Section 5.5).
    pub history_discounting: bool,
    /// As a receiver of data, report when the feedback timer expires (RFC 5348, Section 6.2). Off: only arrivals of data
    /// packets make reports, as in Linux and in ns-2's DCCP. A report that falls into an outage is then not sent into it, and
    /// the first one after it also covers what came before.
    pub feedback_timer: bool,
    /// The least p that the throughput equation is asked for, as in implementations that look the equation up in a table;
    /// zero, which is the default, for none.
    pub least_loss_event_rate: LossEventRate,
    /// As a receiver of data, when a missing packet counts as lost. This is the judgement of the congestion control; how long the
    /// application waits for a missing datagram is [`ReceiveConfig::reorder_delay`].
    pub loss_detection: LossDetection,
    /// t_RTO in the throughput equation.
    pub retransmit_timeout: RetransmitTimeout,
}

/// When a missing packet counts as lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LossDetection {
    /// When its turn is over in the reorder buffer ([`ReceiveConfig::reorder_delay`]), as `papers/reorder` has it; as `Packets`
    /// where there is no buffer.
    #[default]
    Automatic,
    /// When three packets with higher numbers have come (RFC 5348, Section 5.1), also where datagrams wait for each other.
    Packets,
    /// When a single packet with a higher number has come, as in ns-2's TFRC: for comparison, as it takes whatever was
    /// overtaken for lost.
    FirstPacket,
    /// As `Packets` until something comes out of order; then after a time that adapts to how late packets come, as
    /// [RACK](whimbrel_control::reordering::ReorderWindow) has it (RFC 8985). Data do not wait. An experiment.
    Rack,
}

impl TfrcConfig {
    /// Whether a receiver needs to know when data were sent.
    pub(crate) fn wants_timestamps(&self) -> bool {
        self.differentiation.is_some_and(|differentiation| differentiation.scheme.needs_send_times())
    }
}

/// What happens to datagrams that arrive.
///
/// The limits are those of the connection's own queue, from which [`Connection::poll_event`](crate::Connection::poll_event)
/// takes. What does not fit is dropped, which the other end is told (RFC 4340, Section 11.7, Drop Code 2). A
/// driver with a queue of its own says what it drops with
/// [`Connection::datagram_discarded`](crate::Connection::datagram_discarded).
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct ReceiveConfig {
    /// Datagrams that wait for the application at most.
    pub max_datagrams: usize,
    /// Bytes of application data that wait for the application at most.
    pub max_bytes: usize,
    /// Whether data known to be corrupt are delivered, as [`Event::CorruptDatagram`](crate::Event::CorruptDatagram),
    /// rather than dropped (RFC 4340, Section 9.3).
    pub deliver_corrupt: bool,
    /// D_max: the longest that a datagram which came too early waits for those before it; a minute at most. Datagrams
    /// then reach the application in the order in which they were sent; `late` decides on those that come later than that. CCIDs 3 and
    /// 4 take no packet for lost before, unless [`TfrcConfig::loss_detection`] says otherwise. `None`: no reorder buffer. See
    /// `docs/reordering.md`.
    pub reorder_delay: Option<Duration>,
    /// Q: how many packets wait at most, where `reorder_delay` is given. `max_datagrams` and `max_bytes` are
    /// limits besides.
    pub reorder_size: BufferSize,
    /// Whether D_max follows the late times that are measured
    /// ([`LatenessMeter::delay`](whimbrel_control::reordering::LatenessMeter::delay)), between a quarter of the round-trip time and
    /// `reorder_delay`. Then a lost datagram delays those behind it by no more than the path's reordering makes necessary.
    pub reorder_adapts: bool,
    /// What becomes of datagrams that come later than D_max.
    pub late: LatePolicy,
}

/// What becomes of a datagram that comes after its turn in the reorder buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LatePolicy {
    /// It is discarded, and counts as lost (`papers/reorder`, Section II.B), whatever [`TfrcConfig::forgive_late`] says: the sender
    /// adapts to what the application gets.
    #[default]
    Discard,
    /// It is delivered out of order, and its loss is taken back as [`TfrcConfig::forgive_late`] says. For applications that have a
    /// use for late data, as a decoder that repairs its reference frames.
    Deliver,
}

/// How application data are protected against corruption (RFC 4340, Section 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct IntegrityConfig {
    /// The Checksum Coverage of packets with data, if the other end agrees and the datagram is long
    /// enough: 0 covers all data, 1 to 15 the first `4 * (n - 1)` bytes (Section 9.2).
    pub checksum_coverage: u8,
    /// The least Checksum Coverage accepted: 0 accepts only full coverage, 1 to 15 also coverages of that
    /// or more (Section 9.2.1).
    pub minimum_coverage: u8,
    /// Whether data carry a CRC of their own.
    pub data_checksum: DataChecksumUse,
}

/// Whether data carry a CRC of their own, the Data Checksum option. Those that arrive are always
/// checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DataChecksumUse {
    /// No.
    #[default]
    Off,
    /// Yes, and the other end is asked to check it.
    Offer,
    /// Yes, and without an end that checks it there is no connection (RFC 4340, Section 9.3.1).
    Require,
}

/// How long things may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimerConfig {
    /// When a client gives up its Requests (RFC 4340, Section 8.1.1: 3 minutes is the example).
    pub connect: Duration,
    /// Maximum Segment Lifetime; TIMEWAIT lasts twice as long (RFC 4340, Section 3.4).
    pub msl: Duration,
    /// The idle limit: once connected, an end that receives no valid packet for this long takes its peer for dead
    /// and resets the connection ([`ConnectionError::TimedOut`](crate::ConnectionError::TimedOut)). From half of that
    /// time on it sends Syncs, which every DCCP end answers (RFC 4340, Section 7.5.4), so that a peer that merely has
    /// nothing to send is not given up, whatever its own configuration. `None`: only timers that RFC 4340 defines end a
    /// connection.
    pub idle: Option<Duration>,
    /// After how long without sending anything a connected end sends an acknowledgement, so that NATs
    /// on the path do not forget it. UDP mappings last two minutes and more where NATs follow RFC 4787,
    /// Section 4.3, some only 30 s; RFC 8085, Section 3.5 wants no less than 15 s. `None`: never.
    pub keep_alive: Option<Duration>,
    /// The longest that closing may take, from the call of [`Connection::close`](crate::Connection::close): sending what
    /// is queued included. The connection is then reset, and what is still queued dropped. `None`: four times the MSL,
    /// as for the other states that wait for the peer (RFC 4340, Section 8.1.5), which also is the most that counts.
    pub close: Option<Duration>,
}

impl TimerConfig {
    /// Only timers that RFC 4340 defines end a connection: no idle limit, no keep-alive, and up to four MSL for closing. For
    /// simulations, whose peers do not die unless they are told to.
    pub fn rfc4340() -> Self {
        Self { idle: None, keep_alive: None, close: None, ..Self::default() }
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
            tfrc: TfrcConfig::default(),
            freeze: FreezeConfig::default(),
            timers: TimerConfig::default(),
            server_sends_close_request: true,
            data_on_handshake: false,
            short_sequence_numbers: false,
            receive: ReceiveConfig::default(),
            integrity: IntegrityConfig::default(),
            mobility: None,
        }
    }
}

impl Config {
    /// Whether datagrams that arrive wait for those before them, or the judgement on these does.
    pub fn orders_arrivals(&self) -> bool {
        self.receive.reorder_delay.is_some() || self.tfrc.loss_detection == LossDetection::Rack
    }

    /// Whether a packet counts as lost when its turn in the reorder buffer is over.
    pub(crate) fn judges_by_delivery(&self) -> bool {
        self.receive.reorder_delay.is_some() && self.tfrc.loss_detection == LossDetection::Automatic
    }

    /// Whether losses are judged in the order of sequence numbers, after a time, rather than on arrival.
    pub(crate) fn judges_in_order(&self) -> bool {
        self.judges_by_delivery() || self.tfrc.loss_detection == LossDetection::Rack
    }

    /// How many packets with higher numbers make a missing one a lost one. After those that waited, one does.
    pub(crate) fn loss_threshold(&self) -> usize {
        let one = self.judges_in_order() || self.tfrc.loss_detection == LossDetection::FirstPacket;
        if one { 1 } else { NDUPACK }
    }

    /// Whether a connection can work with it.
    ///
    /// # Errors
    ///
    /// Names the first field whose value makes no sense.
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
            "more than nothing and at most a minute, in nanoseconds",
        )?;
        check(receive.reorder_size != BufferSize::Fixed(0), "receive.reorder_size", 0, "at least 1 packet")?;
        for (field, coverage) in [
            ("integrity.checksum_coverage", self.integrity.checksum_coverage),
            ("integrity.minimum_coverage", self.integrity.minimum_coverage),
        ] {
            check(coverage <= MAX_COVERAGE, field, coverage.into(), "0 to 15 (RFC 4340, Section 9.2)")?;
        }
        let decay = self.tfrc.faster_restart;
        check(decay.is_none_or(|decay| !decay.is_zero()), "tfrc.faster_restart", 0, "a time, or none")?;
        let guard = self.tfrc.differentiation.and_then(|differentiation| differentiation.guard);
        check(
            guard.is_none_or(|guard| guard.is_valid()),
            "tfrc.differentiation.guard",
            0,
            "shares from 0 to 1",
        )?;
        self.freeze.validate()?;
        check(!self.timers.connect.is_zero(), "timers.connect", 0, "a time")?;
        check(!self.timers.msl.is_zero(), "timers.msl", 0, "a time")?;
        check(self.timers.idle.is_none_or(|idle| !idle.is_zero()), "timers.idle", 0, "a time, or none")?;
        let keep_alive = self.timers.keep_alive;
        check(keep_alive.is_none_or(|time| !time.is_zero()), "timers.keep_alive", 0, "a time, or none")?;
        check(self.timers.close.is_none_or(|time| !time.is_zero()), "timers.close", 0, "a time, or none")
    }
}

fn check(holds: bool, field: &'static str, value: u64, expected: &'static str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::Invalid { field, value, expected }) }
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
        }
    }
}

impl Default for TfrcConfig {
    fn default() -> Self {
        Self {
            oscillation_damping: false,
            faster_restart: None,
            send_loss_event_rate: true,
            send_rtt_estimate: true,
            differentiation: None,
            forgive_late: true,
            history_discounting: true,
            feedback_timer: true,
            least_loss_event_rate: LossEventRate::ZERO,
            loss_detection: LossDetection::Automatic,
            retransmit_timeout: RetransmitTimeout::FourRoundTrips,
        }
    }
}

impl Default for TimerConfig {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(180),
            msl: Duration::from_secs(120),
            // NATs keep UDP mappings for 30 s and more, as a rule; the limit leaves room for two keep-alives that are lost.
            idle: Some(Duration::from_secs(60)),
            keep_alive: Some(Duration::from_secs(20)),
            close: Some(Duration::from_secs(30)),
        }
    }
}
