//! A list of the packets to lose.

use whimbrel_units::Instant;

use super::ImpairmentError;

/// Checks a mask.
pub(super) fn check(lost: &[u64], length: u64, repeats: bool) -> Result<(), ImpairmentError> {
    if !lost.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(ImpairmentError::MaskOrder);
    }
    let wrong = |problem| Err(ImpairmentError::MaskLength { length, problem });
    match lost.last() {
        Some(last) if *last >= length => wrong("lose a packet behind its end"),
        _ if repeats && length == 0 => wrong("repeat"),
        _ => Ok(()),
    }
}

#[derive(Clone, Debug)]
pub(super) struct MaskPosition {
    lost: Vec<u64>,
    /// Packets that the mask describes.
    length: u64,
    repeats: bool,
    /// The next entry of `lost`.
    next: usize,
    /// Packets transmitted; in the current repetition.
    transmitted: u64,
    /// Departure time of the first packet beyond the mask.
    exceeded: Option<Instant>,
}

impl MaskPosition {
    pub(super) fn new(lost: Vec<u64>, length: u64, repeats: bool) -> Self {
        Self { lost, length, repeats, next: 0, transmitted: 0, exceeded: None }
    }

    pub(super) fn loses(&mut self, departure: Instant) -> bool {
        if self.transmitted == self.length {
            if self.repeats {
                (self.transmitted, self.next) = (0, 0);
            } else {
                self.exceeded.get_or_insert(departure);
                return false;
            }
        }
        let packet = self.transmitted;
        self.transmitted += 1;
        let lost = self.lost.get(self.next) == Some(&packet);
        self.next += usize::from(lost);
        lost
    }

    pub(super) fn exceeded(&self) -> Option<Instant> {
        self.exceeded
    }
}
