//! Values of a configuration that no station has.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use super::{MacConfig, Protection};
use crate::phy::{Modulation, Rate};
use crate::rate_control::RateControl;

/// A field of a [`MacConfig`] with a value that no station has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidMac {
    /// Name of the field.
    pub field: &'static str,
    /// The value.
    pub value: String,
    /// Description of the valid values.
    pub expected: String,
}

impl fmt::Display for InvalidMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mac: {} is {}, expected {}", self.field, self.value, self.expected)
    }
}

impl core::error::Error for InvalidMac {}

fn invalid(
    field: &'static str,
    value: impl fmt::Display,
    expected: impl fmt::Display,
) -> Result<(), InvalidMac> {
    Err(InvalidMac { field, value: value.to_string(), expected: expected.to_string() })
}

impl MacConfig {
    /// An error for the first field whose value no station has: its name, the value and the values expected.
    pub fn check(&self) -> Result<(), InvalidMac> {
        self.check_phy()?;
        self.check_rates()?;
        for (field, limit) in
            [("short_retry_limit", self.short_retry_limit), ("long_retry_limit", self.long_retry_limit)]
        {
            if limit == Some(0) {
                return invalid(field, 0, "at least 1 attempt, or none for no limit");
            }
        }
        if self.header_bytes == 0 {
            return invalid("header_bytes", 0, "at least 1: a frame has a length");
        }
        match self.rate_control {
            RateControl::Arf(arf) if arf.successes == 0 => invalid("rate_control.successes", 0, "at least 1"),
            RateControl::Arf(arf) if arf.failures == 0 => invalid("rate_control.failures", 0, "at least 1"),
            RateControl::Minstrel(minstrel) if minstrel.lookaround_percent > 100 => {
                invalid("rate_control.lookaround_percent", minstrel.lookaround_percent, "at most 100")
            }
            RateControl::Minstrel(minstrel) if minstrel.old_weight_percent > 100 => {
                invalid("rate_control.old_weight_percent", minstrel.old_weight_percent, "at most 100")
            }
            _ => Ok(()),
        }
    }

    fn check_phy(&self) -> Result<(), InvalidMac> {
        let phy = &self.phy;
        if phy.supported.is_empty() {
            return invalid("phy.supported", "empty", "at least one rate");
        }
        if phy.basic.is_empty() {
            return invalid("phy.basic", "empty", format!("some of {}", phy.supported));
        }
        if let Some(rate) = phy.basic.iter().find(|&rate| !phy.supported.contains(rate)) {
            return invalid("phy.basic", rate, format!("some of {}", phy.supported));
        }
        for (field, time) in [("phy.slot", phy.slot), ("phy.sifs", phy.sifs)] {
            if time.is_zero() {
                return invalid(field, 0, "a time above 0");
            }
        }
        for (field, window) in [("phy.cw_min", phy.cw_min), ("phy.cw_max", phy.cw_max)] {
            if !(u32::from(window) + 1).is_power_of_two() {
                return invalid(field, window, "a power of two minus one");
            }
        }
        if phy.aifsn == 0 {
            return invalid("phy.aifsn", 0, "at least 1 slot after SIFS, in which responses begin");
        }
        if phy.cw_min > phy.cw_max {
            return invalid("phy.cw_min", phy.cw_min, format!("at most phy.cw_max, {}", phy.cw_max));
        }
        Ok(())
    }

    fn check_rates(&self) -> Result<(), InvalidMac> {
        let supported = self.phy.supported;
        let rates = [
            ("data_rate", Some(self.data_rate)),
            ("control_rate", self.control_rate),
            ("group_rate", Some(self.group_rate)),
        ];
        for (field, rate) in rates {
            if let Some(rate) = rate.filter(|&rate| !supported.contains(rate)) {
                return invalid(field, rate, format!("a rate of the PHY: {supported}"));
            }
        }
        let is_readable = |rate: Rate| rate.modulation() != Modulation::Ofdm && self.phy.basic.contains(rate);
        match self.protection {
            Protection::CtsToSelf { rate } | Protection::RtsCts { rate } if !is_readable(rate) => {
                invalid("protection.rate", rate, "a basic rate of 1, 2, 5.5 or 11 Mbit/s")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
