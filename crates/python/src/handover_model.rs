//! The model of handovers.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use whimbrel_control::handover_model::networks::table_3;
use whimbrel_control::handover_model::{Handover, Network, predict};
use whimbrel_units::{ByteCount, DataRate, Duration};

use crate::errors;

/// The cost of a handover between two networks, each a rate in bytes per second and a round-trip time in
/// seconds, for a TFRC sender of packets of `segment_size` bytes; by Mobile IPv6 unless a `disconnection` in
/// seconds is given.
#[pyfunction]
#[pyo3(signature = (old, new, segment_size, disconnection))]
pub(crate) fn handover_model<'py>(
    py: Python<'py>,
    old: (f64, f64),
    new: (f64, f64),
    segment_size: u64,
    disconnection: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let network = |(rate, rtt): (f64, f64)| Network {
        rate: DataRate::from_bytes_per_second(rate),
        rtt: Duration::from_secs_f64(rtt),
    };
    let mut handover = Handover::mobile_ipv6(network(old), network(new), ByteCount::new(segment_size));
    if let Some(seconds) = disconnection {
        handover.disconnection = Duration::from_secs_f64(seconds);
    }
    let predicted = predict(&handover).map_err(|error| errors::argument(error.to_string()))?;
    let fields = PyDict::new(py);
    fields.set_item("disconnection_s", predicted.disconnection.as_secs_f64())?;
    fields.set_item("lost_packets", predicted.lost_packets)?;
    fields.set_item("timeouts", predicted.timeouts)?;
    fields.set_item("rate_on_return", predicted.rate_on_return.as_bytes_per_second())?;
    fields.set_item("idle_s", predicted.idle.as_secs_f64())?;
    fields.set_item("slow_start_rtts", predicted.slow_start_rtts)?;
    fields.set_item("loss_event_rate", predicted.loss_event_rate.as_f64())?;
    fields.set_item("recovery_s", predicted.recovery.as_secs_f64())?;
    fields.set_item("growth_rtts", predicted.growth_rtts)?;
    fields.set_item("wasted_restart", predicted.wasted.restart)?;
    fields.set_item("wasted_plateau", predicted.wasted.plateau)?;
    fields.set_item("wasted_growth", predicted.wasted.growth)?;
    Ok(fields)
}

/// The networks of Table 3 by name: rate in bytes per second and round-trip time in seconds.
#[pyfunction]
pub(crate) fn handover_networks(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let networks = PyDict::new(py);
    for (name, network) in table_3() {
        networks.set_item(name, (network.rate.as_bytes_per_second(), network.rtt.as_secs_f64()))?;
    }
    Ok(networks)
}
