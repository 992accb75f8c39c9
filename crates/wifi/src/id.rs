//! The numbers of stations and packets: types of their own, so that one is not taken for the other.

use core::fmt;

/// A station, numbered in its medium in the order of addition, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[repr(transparent)]
pub struct StationIndex(pub u32);

impl StationIndex {
    /// The station at this position.
    ///
    /// # Panics
    /// From 2^32 on.
    #[inline]
    pub fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than 2^32 stations"))
    }

    /// The position in the order of addition, from 0.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for StationIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A packet, numbered in the order in which it enters the network, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[repr(transparent)]
pub struct PacketId(pub u64);
