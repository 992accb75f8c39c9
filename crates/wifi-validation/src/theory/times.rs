//! Times that exchanges occupy the medium.

use whimbrel_units::Duration;
use whimbrel_wifi::dcf::{AfterCollision, MacConfig};
use whimbrel_wifi::phy::{ACK_BYTES, CTS_BYTES, RTS_BYTES};

/// Times in microseconds of the events of a saturated cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExchangeTimes {
    /// sigma: a slot.
    pub slot: f64,
    /// `T_s`: a successful exchange with the DIFS after it.
    pub success: f64,
    /// `T_c`: a collision with the interframe space after it.
    pub collision: f64,
}

impl ExchangeTimes {
    /// The times of data frames of `frame_bytes` bytes under a configuration, with RTS/CTS if it asks for it.
    /// Propagation takes no time.
    pub fn new(config: &MacConfig, frame_bytes: u32, after_collision: AfterCollision) -> Self {
        let phy = &config.phy;
        let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
        let control = config.response_rate(config.data_rate);
        let data = phy.duration(config.data_rate, frame_bytes);
        let ack = phy.duration(control, ACK_BYTES);
        let acknowledged = data + phy.sifs + ack + phy.difs();
        let (success, collided) = if config.uses_rts(frame_bytes) {
            let rts = phy.duration(control, RTS_BYTES);
            let cts = phy.duration(config.response_rate(control), CTS_BYTES);
            (rts + phy.sifs + cts + phy.sifs + acknowledged, rts)
        } else {
            (acknowledged, data)
        };
        let space = match after_collision {
            AfterCollision::Difs => phy.difs(),
            AfterCollision::Eifs => phy.sifs + ack + phy.difs(),
        };
        Self { slot: micros(phy.slot), success: micros(success), collision: micros(collided + space) }
    }

    /// The times with an allowance in microseconds for propagation in each exchange.
    pub fn with_propagation(self, micros: f64) -> Self {
        Self { success: self.success + micros, collision: self.collision + micros, ..self }
    }
}
