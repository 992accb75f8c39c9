//! Background users, which generate load: downloads of random sizes at random times.

use core::f64::consts::TAU;

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

use super::config::Background;
use crate::packet::{Packet, PacketId};
use crate::radio::Place;
use crate::scheduler::UserIndex;

/// The number of all packets of the background.
pub(super) const ANONYMOUS: PacketId = PacketId(u64::MAX);
/// Bytes of a packet.
const PACKET: u64 = 1_400;
/// The most packets of a download.
const MOST: u64 = 20_000;

/// A user.
#[derive(Clone, Debug)]
pub(super) struct BackgroundUser {
    pub(super) user: UserIndex,
    pub(super) cell: usize,
    pub(super) next: Instant,
    config: Background,
    random: SplitMix64,
}

impl BackgroundUser {
    pub(super) fn new(config: Background, cell: usize, user: UserIndex, random: SplitMix64) -> Self {
        let mut this = Self { user, cell, next: Instant::ZERO, config, random };
        this.next = this.after(Instant::ZERO);
        this
    }

    /// A place on the disc around the station.
    pub(super) fn place(&mut self, station: Place) -> Place {
        let (sine, cosine) = libm::sincos(TAU * self.random.uniform());
        let distance = self.config.radius.0 * libm::sqrt(self.random.uniform());
        Place { x: station.x + distance * cosine, y: station.y + distance * sine }
    }

    fn exponential(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        -libm::log(1.0 - self.random.uniform())
    }

    fn after(&mut self, now: Instant) -> Instant {
        let mean = self.config.size / self.config.rate;
        now + Duration::from_secs_f64(mean.as_secs_f64() * self.exponential())
    }

    /// The download that begins: its packets.
    pub(super) fn begin(&mut self, now: Instant) -> u64 {
        self.next = self.after(now);
        let bytes = self.config.size.as_f64() * self.exponential();
        (libm::ceil(bytes / PACKET as f64) as u64).clamp(1, MOST)
    }

    pub(super) const fn packet() -> Packet {
        Packet { id: ANONYMOUS, size: ByteCount::new(PACKET), ecn: Ecn::NotEct }
    }
}
