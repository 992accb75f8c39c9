//! Loss differentiation on arrays.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use whimbrel_control::loss_differentiation::{
    ClassifiedLoss, LossClass, PacketArrival, Parameters, Scheme, SequenceBits, classify,
};
use whimbrel_units::ByteCount;

use crate::detached;
use crate::errors;

/// Classifies the losses among packets that arrived: `sequence` numbers in order of arrival, `received` and,
/// unless empty, `sent` times in nanoseconds after each clock's own start. `bits` is the width of numbers
/// that wrap; detected if `None`, and 64 if they do not wrap. `published` uses the algorithms exactly as
/// published.
#[pyfunction]
pub(crate) fn classify_losses<'py>(
    py: Python<'py>,
    scheme: &str,
    sequence: PyReadonlyArray1<'py, u64>,
    sent: PyReadonlyArray1<'py, i64>,
    received: PyReadonlyArray1<'py, i64>,
    bits: Option<u32>,
    published: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let scheme: Scheme =
        scheme.parse().map_err(|known| errors::argument(format!("scheme is {scheme:?}, {known}")))?;
    let (sequence, sent, received) = (sequence.as_array(), sent.as_array(), received.as_array());
    let mut packets: Vec<PacketArrival> = sequence
        .iter()
        .zip(received.iter())
        .enumerate()
        .map(|(i, (&sequence, &received))| {
            PacketArrival::recorded(sequence, ByteCount::new(1), received, sent.get(i).copied())
        })
        .collect();
    let bits = match bits {
        Some(bits) => SequenceBits::new(bits),
        None => SequenceBits::detect(sequence.iter().copied()),
    };
    if let Some(bits) = bits {
        bits.unwrap(&mut packets).map_err(|place| {
            let number = packets[place].sequence;
            errors::argument(format!(
                "sequence[{place}] is {number}, expected a number of {} bits",
                bits.get()
            ))
        })?;
    }
    let parameters = if published { Parameters::PUBLISHED } else { Parameters::ROBUST };
    let mut losses = detached::run(py, move || classify(&mut *scheme.build_with(&parameters), packets));
    if let Some(bits) = bits {
        for loss in &mut losses {
            loss.first = bits.wrapped(loss.first);
        }
    }
    columns(py, &losses)
}

fn columns<'py>(py: Python<'py>, losses: &[ClassifiedLoss]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let whole = |value: fn(&ClassifiedLoss) -> u64| losses.iter().map(value).collect::<Vec<u64>>();
    columns.set_item("first", whole(|loss| loss.first).into_pyarray(py))?;
    columns.set_item("count", whole(|loss| loss.count).into_pyarray(py))?;
    let wireless: Vec<bool> = losses.iter().map(|loss| loss.cause == LossClass::Wireless).collect();
    columns.set_item("wireless", wireless.into_pyarray(py))?;
    let base: Vec<&str> = losses.iter().map(|loss| loss.evidence.scheme()).collect();
    columns.set_item("base", base)?;
    Ok(columns)
}
