//! How large datagrams are: as large as asked for, or as the path carries now.

use bytes::Bytes;
use whimbrel_net::{NetError, SendError};

use super::datagram::Head;

#[cfg(test)]
mod tests;

/// So many smaller datagrams leave before one of the size asked for is tried again: the path may be as it was.
const UNTIL_RETRY: u32 = 256;

/// How large datagrams are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatagramSize {
    wanted: usize,
    carried: usize,
    until_retry: u32,
}

impl DatagramSize {
    /// Datagrams of so many bytes are asked for.
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
    /// The path carries less. False where that is too little for what every datagram begins with.
    fn shrink(&mut self, limit: usize) -> bool {
        let fits = (Head::LEN..self.carried).contains(&limit);
        if fits {
            (self.carried, self.until_retry) = (limit, UNTIL_RETRY);
        }
        fits
    }
    /// What is left to send of a datagram that was refused.
    ///
    /// # Errors
    ///
    /// The refusal, where it was not for the size, or hardly anything would be left.
    pub(crate) fn cut(&mut self, mut datagram: Bytes, refusal: anyhow::Error) -> anyhow::Result<Bytes> {
        match limit(&refusal) {
            Some(limit) if self.shrink(limit) => datagram.truncate(limit),
            _ => return Err(refusal),
        }
        Ok(datagram)
    }
}

/// The largest datagram that the path carries, where that is what is wrong.
fn limit(error: &anyhow::Error) -> Option<usize> {
    match error.downcast_ref()? {
        NetError::Send(SendError::TooLarge { limit, .. }) => Some(*limit),
        _ => None,
    }
}
