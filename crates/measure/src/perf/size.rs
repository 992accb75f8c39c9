//! Size of datagrams: as requested, or as the path carries now.

use bytes::Bytes;
use whimbrel_net::{NetError, SendError};

use super::datagram::Head;

#[cfg(test)]
mod tests;

/// Number of smaller datagrams before one of the requested size is tried again: the path may be as before.
const UNTIL_RETRY: u32 = 256;

/// The size of datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatagramSize {
    wanted: usize,
    carried: usize,
    until_retry: u32,
}

impl DatagramSize {
    /// For datagrams of `wanted` bytes.
    pub(crate) fn new(wanted: usize) -> Self {
        Self { wanted, carried: wanted, until_retry: 0 }
    }

    /// The size of the next one.
    pub(crate) fn next(&mut self) -> usize {
        self.until_retry = self.until_retry.saturating_sub(1);
        if self.until_retry == 0 {
            self.carried = self.wanted;
        }
        self.carried
    }

    /// The path carries less. Returns `false` if that is too little for the head of a datagram.
    fn shrink(&mut self, limit: usize) -> bool {
        let fits = (Head::LEN..self.carried).contains(&limit);
        if fits {
            (self.carried, self.until_retry) = (limit, UNTIL_RETRY);
        }
        fits
    }

    /// The part of a refused datagram that fits the path.
    ///
    /// # Errors
    ///
    /// The refusal, if it was not for the size, or too little would be left.
    pub(crate) fn cut(&mut self, mut datagram: Bytes, refusal: anyhow::Error) -> anyhow::Result<Bytes> {
        match limit(&refusal) {
            Some(limit) if self.shrink(limit) => datagram.truncate(limit),
            _ => return Err(refusal),
        }
        Ok(datagram)
    }
}

/// The largest datagram that the path carries, if the error is about the size.
fn limit(error: &anyhow::Error) -> Option<usize> {
    match error.downcast_ref()? {
        NetError::Send(SendError::TooLarge { limit, .. }) => Some(*limit),
        _ => None,
    }
}
