//! Adaptive modulation and coding: from a signal-to-noise ratio to the bits of a block.
//!
//! - [`scheme`]: modulations, code rates, and the tables of CQI and of NR's MCS.
//! - [`lte`]: transport blocks of LTE, a table.
//! - [`nr`]: transport blocks of NR, a formula.
//! - [`Adaptation`]: the choice of CQI and MCS; [`Ladder`]: the same as tables.
//!
//! A terminal reports a CQI, the scheme that it could receive; the station answers with an MCS of that
//! efficiency, whose block size depends on the resource blocks given.

mod adaptation;
mod ladder;
pub mod lte;
pub mod nr;
pub mod scheme;

pub use adaptation::{Adaptation, SelectionRule, ten_percent_point};
pub use ladder::Ladder;
pub use scheme::{CodeRate, Cqi, CqiTable, Mcs, McsTable, Modulation, Scheme};
