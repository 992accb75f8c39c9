//! Setters of configurations.

use whimbrel_units::Duration;
use whimbrel_wire::ServiceCode;

use super::*;
use crate::config_setters;

impl Config {
    /// Sets [`sender_ccids`](#structfield.sender_ccids).
    #[must_use]
    pub fn sender_ccids(mut self, ccids: impl Into<CcidPreference>) -> Self {
        self.sender_ccids = ccids.into();
        self
    }
    /// Sets [`receiver_ccids`](#structfield.receiver_ccids).
    #[must_use]
    pub fn receiver_ccids(mut self, ccids: impl Into<CcidPreference>) -> Self {
        self.receiver_ccids = ccids.into();
        self
    }
}

config_setters!(Config {
    service_code: ServiceCode,
    ccids: Registry,
    ecn: bool,
    send_queue: SendQueueConfig,
    max_datagram: usize,
    path_mtu: PathMtuDiscovery,
    sequence_window: u64,
    tfrc: TfrcConfig,
    freeze: FreezeConfig,
    timers: TimerConfig,
    server_sends_close_request: bool,
    data_on_handshake: bool,
    short_sequence_numbers: bool,
    receive: ReceiveConfig,
    integrity: IntegrityConfig,
    mobility: Option<MobilityConfig>,
});

config_setters!(MobilityConfig { on_move: PathChange });

config_setters!(TfrcConfig {
    oscillation_damping: bool,
    faster_restart: Option<Duration>,
    send_loss_event_rate: bool,
    send_rtt_estimate: bool,
    differentiation: Option<Differentiation>,
    forgive_late: bool,
    history_discounting: bool,
    feedback_timer: bool,
    least_loss_event_rate: LossEventRate,
    loss_detection: LossDetection,
    retransmit_timeout: RetransmitTimeout,
});

config_setters!(ReceiveConfig {
    max_datagrams: usize,
    max_bytes: usize,
    deliver_corrupt: bool,
    reorder_delay: Option<Duration>,
    reorder_size: BufferSize,
    reorder_adapts: bool,
    late: LatePolicy,
});

config_setters!(IntegrityConfig {
    checksum_coverage: u8,
    minimum_coverage: u8,
    data_checksum: DataChecksumUse,
});

config_setters!(TimerConfig {
    connect: Duration,
    msl: Duration,
    idle: Option<Duration>,
    keep_alive: Option<Duration>,
    close: Option<Duration>,
});
