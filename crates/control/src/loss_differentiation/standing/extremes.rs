//! Extremes of trip times of which one may be wrong.

use super::Rott;

/// Extremes of the trip times of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    pub(super) least: Least,
    pub(super) maximum: Rott,
}

impl Extremes {
    /// The extremes of a period that begins with a trip time.
    pub(super) fn new(rott: Rott) -> Self {
        Self { least: Least::default(), maximum: rott }
    }
}

/// The two least of some values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Least([Option<Rott>; 2]);

impl Least {
    pub(super) fn add(&mut self, value: Rott) {
        let Self([first, second]) = self;
        if first.is_none_or(|first| value < first) {
            (*first, *second) = (Some(value), *first);
        } else if second.is_none_or(|second| value < second) {
            *second = Some(value);
        }
    }

    /// The values, in order.
    pub(super) fn all(self) -> impl Iterator<Item = Rott> {
        self.0.into_iter().flatten()
    }

    /// The least value if that one may be too small by `error`, in nanoseconds: the second one, but not
    /// more than the first and the error.
    pub(super) fn minimum(self, error: f64) -> Option<Rott> {
        let Self([first, second]) = self;
        first.map(|first| second.map_or(first, |second| second.min(first + error)))
    }
}
