//! Whose data did not reach the application: kept by the receiver, told in Data Dropped options, read by the sender
//! (RFC 4340, Section 11.7).
//!
//! A [`Recorder`] keeps the few recent packets whose data went another way than usual and writes
//! them into every acknowledgement until the other end is known to have read one. A [`Reader`] turns
//! the options that come back, which repeat themselves, into news.

mod reader;
mod recorder;

pub use reader::{Invalid, Reader};
pub use recorder::Recorder;

#[cfg(test)]
mod tests;
