//! The content of transmissions on the air.

use whimbrel_units::Instant;
use whimbrel_wifi::edca::{Ppdu, Received};
use whimbrel_wifi::medium::Link;
use whimbrel_wifi::propagation::{corrupt_by_noise, loss_probability};
use whimbrel_wifi::{FrameKind, MacAddress, Random, SplitMix64};

use super::super::payloads::Payloads;
use crate::medium::MediumLoss;

/// Bits of the legacy header, without which nothing of a transmission with a mode is received.
const HEADER_BITS: f64 = 24.0;

/// Noise at the receivers, with the draws that it takes.
pub(super) struct Noise {
    power: f64,
    random: SplitMix64,
}

impl Noise {
    pub(super) const fn new(power: f64, random: SplitMix64) -> Self {
        Self { power, random }
    }
}

struct Content {
    ppdu: Ppdu,
    /// MPDUs that noise does not destroy at the receiver.
    heard: Received,
}

/// The transmissions on the air. Their memory is reused.
pub(super) struct Contents {
    all: Vec<Content>,
    free: Vec<u32>,
    noise: Option<Noise>,
}

impl Contents {
    pub(super) const fn new(noise: Option<Noise>) -> Self {
        Self { all: Vec::new(), free: Vec::new(), noise }
    }

    /// Keeps the content of a transmission, and returns its handle.
    pub(super) fn store(&mut self, ppdu: &Ppdu) -> u64 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.all.push(Content { ppdu: Ppdu::new(ppdu.frame), heard: Received::ALL });
            self.all.len() as u32 - 1
        });
        let content = &mut self.all[handle as usize];
        content.ppdu.assign(ppdu);
        content.ppdu.frame.payload = u64::from(handle);
        content.heard = Received::ALL;
        u64::from(handle)
    }

    pub(super) fn get(&self, handle: u64) -> &Ppdu {
        &self.all[handle as usize].ppdu
    }

    pub(super) fn free(&mut self, handle: u64) {
        self.free.push(handle as u32);
    }

    /// Draws what noise destroys: at the receiver each MPDU, and anywhere the header, or the whole of a frame
    /// without a mode.
    pub(super) fn apply_noise(&mut self, handle: u64, links: &mut [Link], receiver: Option<usize>) {
        let Some(Noise { power, random }) = &mut self.noise else { return };
        let Content { ppdu, heard } = &mut self.all[handle as usize];
        let frame = &ppdu.frame;
        if let (Some(mode), Some(link)) = (frame.mode, receiver) {
            let ratio = f64::from(links[link].power) / *power;
            for (place, mpdu) in ppdu.mpdus.iter().enumerate() {
                if random.uniform() < loss_probability(mode, ratio, mpdu.size) {
                    heard.lose(place);
                }
            }
        }
        // Draws in the order of the stations, which does not depend on their distances.
        links.sort_unstable_by_key(|link| link.station);
        let (rate, bits) = match frame.mode {
            Some(_) => (whimbrel_wifi::Rate::Ofdm6, HEADER_BITS),
            None => (frame.rate, f64::from(frame.size) * 8.0),
        };
        corrupt_by_noise(links, rate, bits, *power, random);
    }

    /// Reception by a station of a transmission that ends now. The causes of its packets' losses are noted.
    pub(super) fn received(
        &self,
        now: Instant,
        handle: u64,
        station: MacAddress,
        damage: &[(Instant, Instant)],
        payloads: &mut Payloads,
    ) -> (&Ppdu, Received) {
        let Content { ppdu, heard } = &self.all[handle as usize];
        let mut received = ppdu.undamaged(now, damage);
        if ppdu.frame.receiver != station
            || !matches!(ppdu.frame.kind, FrameKind::Aggregate | FrameKind::Data)
        {
            return (ppdu, received);
        }
        let mut first = 0;
        for (place, mpdu) in ppdu.mpdus.iter().enumerate() {
            let end = first + usize::from(mpdu.packets);
            let cause = if !received.contains(place) {
                Some(MediumLoss::Collision)
            } else if !heard.contains(place) {
                received.lose(place);
                Some(MediumLoss::Noise)
            } else {
                None
            };
            if let Some(cause) = cause {
                ppdu.packets[first..end].iter().for_each(|packet| payloads.lose(packet.handle, cause));
            }
            first = end;
        }
        (ppdu, received)
    }
}
