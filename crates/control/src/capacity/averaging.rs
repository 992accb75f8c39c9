//! Averages of the capacity over exchanges.

use whimbrel_units::{ByteCount, DataRate, Duration};

/// The capacity as it follows from several exchanges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Averaging {
    /// The capacity of the latest exchange, as in paper `winf`. The result depends on the packet's size: most
    /// of the time of a small packet is overhead.
    #[default]
    Latest,
    /// The capacity of the latest exchange whose packet is at least as large as all before. To the MAC, the
    /// acknowledgements of a transport are packets of their own; their exchanges do not count.
    Largest,
    /// All sizes over all times. Large packets have the larger weights.
    Total,
}

/// Capacity in one state.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct CapacityMean {
    size: ByteCount,
    time: Duration,
}

impl CapacityMean {
    /// Processes an exchange of `size` in `time`; ignored if one of them is zero.
    pub(super) fn on_exchange(&mut self, size: ByteCount, time: Duration, averaging: Averaging) {
        if time.is_zero() || size == ByteCount::ZERO {
            return;
        }
        *self = match averaging {
            Averaging::Largest if size < self.size => return,
            Averaging::Latest | Averaging::Largest => Self { size, time },
            Averaging::Total => Self {
                size: ByteCount::new(self.size.as_u64().saturating_add(size.as_u64())),
                time: self.time + time,
            },
        };
    }

    /// The capacity, at most `nominal`; `None` without an exchange.
    pub(super) fn rate(&self, nominal: DataRate) -> Option<DataRate> {
        let rate = DataRate::from_bits_per_second(self.size.as_f64() * 8.0 / self.time.as_secs_f64());
        (!self.time.is_zero()).then_some(rate.min(nominal))
    }
}
