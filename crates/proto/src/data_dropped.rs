//! Packets whose data did not reach the application: recorded by the receiver, reported in Data Dropped
//! options, read by the sender (RFC 4340, Section 11.7).
//!
//! A [`Recorder`] keeps the recent packets whose data was not delivered as usual and writes them into every
//! acknowledgement until the peer is known to have received one. A [`Reader`] extracts the new information
//! from the options that come back, which repeat earlier reports.

mod reader;
mod recorder;

pub use reader::{Invalid, Reader};
pub use recorder::Recorder;

#[cfg(test)]
mod tests;
