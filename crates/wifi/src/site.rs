//! The stations of a network: their paths, when they are on, and the links between them.

use alloc::vec::Vec;

use whimbrel_units::Instant;

use crate::StationIndex;
use crate::medium::Link;
use crate::mobility::{Area, Leg, Path, Position, Presence};
use crate::propagation::{Channel, ChannelConfig, InvalidRadio, Positions, SignalClass};

#[cfg(test)]
mod tests;

/// A number of stations on a [`Channel`].
///
/// A transmission costs the stations in range. If nothing moves, fades or is switched off, the links of each
/// station are computed once.
#[derive(Clone, Debug)]
pub struct Site {
    channel: Channel,
    stations: Stations,
    links: Vec<Link>,
    /// Links of each station, if they never change and are known.
    lasting: Vec<Option<Vec<Link>>>,
    is_constant: bool,
    /// No station is ever off.
    is_always_on: bool,
}

#[derive(Clone, Debug)]
struct Stations {
    paths: Vec<Path>,
    presence: Vec<Presence>,
}

impl Positions for Stations {
    fn current(&self, node: StationIndex, now: Instant) -> (Leg, Instant) {
        self.paths[node.index()].current(now)
    }

    fn max_speed(&self, node: StationIndex) -> f64 {
        self.paths[node.index()].max_speed()
    }
}

impl Site {
    /// Stations on these paths, each of which is on when its presence says so.
    ///
    /// # Errors
    /// If the radio has a field with an impossible value.
    pub fn new(
        config: ChannelConfig,
        stations: impl IntoIterator<Item = (Path, Presence)>,
    ) -> Result<Self, InvalidRadio> {
        let (paths, presence): (Vec<Path>, Vec<Presence>) = stations.into_iter().unzip();
        let is_always_on = presence.iter().all(|presence| *presence == Presence::ALWAYS);
        let is_constant =
            config.fading.is_none() && paths.iter().all(|path| path.max_speed() == 0.0) && is_always_on;
        let count = paths.len();
        let stations = Stations { paths, presence };
        let channel = Channel::new(config, extent(&stations.paths), Instant::ZERO, count, &stations)?;
        let lasting = alloc::vec![None; count];
        Ok(Self { channel, stations, links: Vec::new(), lasting, is_constant, is_always_on })
    }

    /// Number of stations.
    pub fn stations(&self) -> usize {
        self.stations.paths.len()
    }

    /// The channel.
    pub const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// A station's position.
    pub fn position(&self, station: StationIndex, now: Instant) -> Position {
        self.stations.paths[station.index()].position(now)
    }

    /// A station's path.
    pub fn path(&self, station: StationIndex) -> &Path {
        &self.stations.paths[station.index()]
    }

    /// The times at which a station is on.
    pub fn presence(&self, station: StationIndex) -> &Presence {
        &self.stations.presence[station.index()]
    }

    /// `true` if a station is on.
    pub fn is_on(&self, station: StationIndex, now: Instant) -> bool {
        self.stations.presence[station.index()].is_on(now)
    }

    /// Power in watts at which a station receives another one's frames at `now`.
    pub fn power(&self, from: StationIndex, to: StationIndex, now: Instant) -> f64 {
        self.channel.power(now, from, to, &self.stations)
    }

    /// `true` if a station can decode another one's frames at `now`, without interference.
    pub fn reaches(&self, from: StationIndex, to: StationIndex, now: Instant) -> bool {
        if from == to || !self.is_on(from, now) || !self.is_on(to, now) {
            return false;
        }
        let power = self.power(from, to, now);
        self.channel.config().radio.classify(power) == SignalClass::Decodable
    }

    /// The stations that a transmission of `from` at `now` reaches, in the order of their delays and then of
    /// their numbers. Calls must not go back in time.
    pub fn links(&mut self, from: StationIndex, now: Instant) -> &[Link] {
        if !self.is_constant {
            self.find(from, now);
            return &self.links;
        }
        if self.lasting[from.index()].is_none() {
            self.find(from, now);
            self.lasting[from.index()] = Some(self.links.clone());
        }
        self.lasting[from.index()].as_deref().unwrap_or_default()
    }

    fn find(&mut self, from: StationIndex, now: Instant) {
        let Self { channel, stations, links, .. } = self;
        links.clear();
        let is_on = |station: StationIndex| stations.presence[station.index()].is_on(now);
        if is_on(from) {
            channel.links(now, from, stations, links);
            if !self.is_always_on {
                links.retain(|link| is_on(link.station));
            }
        }
    }
}

/// The area that all paths stay in.
fn extent(paths: &[Path]) -> Area {
    let mut corners = paths.iter().flat_map(|path| path.legs().iter().map(|leg| leg.origin));
    let first = corners.next().unwrap_or_default();
    let (mut low, mut high) = (first, first);
    for corner in corners {
        low = Position { x: low.x.min(corner.x), y: low.y.min(corner.y) };
        high = Position { x: high.x.max(corner.x), y: high.y.max(corner.y) };
    }
    Area { low, high }
}
