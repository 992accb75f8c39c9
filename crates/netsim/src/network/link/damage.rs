//! Packets that the medium destroys but that arrive, with damaged content.

use crate::impairment::ImpairmentError;
use crate::random::RandomStream;

/// Draws for each packet by itself, from a stream of its own: what is destroyed does not depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    share: f64,
    random: RandomStream,
}

impl Damage {
    /// One by which that share of the packets has intact headers; none where that is zero.
    ///
    /// # Errors
    /// If the share is not between 0 and 1.
    pub(crate) fn new(share: f64, random: RandomStream) -> Result<Option<Self>, ImpairmentError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(ImpairmentError::NotAProbability { name: "damaged", value: share });
        }
        Ok((share > 0.0).then_some(Self { share, random }))
    }

    /// Returns `true` if the headers of the next packet destroyed are intact.
    pub(crate) fn spares_headers(&mut self) -> bool {
        self.random.bernoulli(self.share)
    }
}
