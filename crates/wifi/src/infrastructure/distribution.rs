//! The distribution system behind the access points.

use alloc::collections::BTreeMap;

use crate::frame::MacAddress;

/// The location of each station: the access point that it is associated with. Frames for a station go to
/// that.
#[derive(Clone, Default, Debug)]
pub struct DistributionSystem {
    locations: BTreeMap<MacAddress, MacAddress>,
}

impl DistributionSystem {
    /// A distribution system without stations.
    pub fn new() -> Self {
        Self::default()
    }

    /// A station is associated with an access point. Returns the access point that it was associated with
    /// before, which must be [informed](super::AccessPoint::handle_moved).
    pub fn associate(&mut self, station: MacAddress, access_point: MacAddress) -> Option<MacAddress> {
        self.locations.insert(station, access_point).filter(|&before| before != access_point)
    }

    /// A station is no longer associated with this access point. A report of one that the station has left
    /// already changes nothing.
    pub fn leave(&mut self, station: MacAddress, access_point: MacAddress) {
        if self.locations.get(&station) == Some(&access_point) {
            self.locations.remove(&station);
        }
    }

    /// The access point of a station.
    pub fn locate(&self, station: MacAddress) -> Option<MacAddress> {
        self.locations.get(&station).copied()
    }
}

#[cfg(test)]
mod tests;
