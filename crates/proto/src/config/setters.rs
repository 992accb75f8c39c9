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

    /// Sets the configuration of the mechanisms based on TFRC that are in the [registry](#structfield.ccids).
    #[must_use]
    pub fn tfrc(mut self, tfrc: TfrcConfig) -> Self {
        self.tune_tfrc(|config| *config = tfrc);
        self
    }

    /// Changes the configurations of these mechanisms.
    pub fn tune_tfrc(&mut self, change: impl Fn(&mut TfrcConfig)) {
        self.ccids = self.ccids.tuned_tfrc(change);
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
    freeze: FreezeConfig,
    timers: TimerConfig,
    server_sends_close_request: bool,
    data_on_handshake: bool,
    short_sequence_numbers: bool,
    receive: ReceiveConfig,
    integrity: IntegrityConfig,
    mobility: Option<MobilityConfig>,
    repair: bool,
    repair_in_parts: bool,
});

config_setters!(MobilityConfig { on_move: PathChange });

config_setters!(ReceiveConfig {
    max_datagrams: usize,
    max_bytes: usize,
    deliver_corrupt: bool,
    reorder_delay: Option<Duration>,
    reorder_size: BufferSize,
    reorder_adapts: bool,
    late: LatePolicy,
    loss_detection: LossDetection,
});

config_setters!(IntegrityConfig {
    checksum_coverage: u8,
    minimum_coverage: u8,
    data_checksum: DataChecksumUse,
});

config_setters!(TimerConfig {
    connect: Duration,
    requests: RequestSchedule,
    msl: Duration,
    idle: Option<Duration>,
    keep_alive: Option<Duration>,
    close: Option<Duration>,
});
