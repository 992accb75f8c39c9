//! The rate of the frames to each receiver, and its adaptation.

use whimbrel_units::Instant;

use super::{Adaptation, Edca, TransmitRate};
use crate::frame::MacAddress;
use crate::random::Random;
use crate::rate_control::{Chain, MinstrelHt};

/// The adaptation of a station: the state of each receiver serves all categories.
#[derive(Clone, Default, Debug)]
pub(super) struct Controls(alloc::vec::Vec<(MacAddress, MinstrelHt)>);

/// The adaptation of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptive {
    control: usize,
    chain: Chain,
}

impl<R: Random> Edca<R> {
    /// The adaptation for a new session; `None` for a fixed rate.
    pub(super) fn adaptive(&mut self, receiver: MacAddress) -> Option<Adaptive> {
        let TransmitRate::Mode(mode) = self.config.rate else { return None };
        if self.config.adaptation == Adaptation::Fixed || receiver.is_group() {
            return None;
        }
        let controls = &mut self.controls.0;
        let known = controls.iter().position(|(known, _)| *known == receiver);
        let control = known.unwrap_or_else(|| {
            controls.push((receiver, MinstrelHt::new(mode)));
            controls.len() - 1
        });
        Some(Adaptive { control, chain: Chain::default() })
    }

    /// The rate of most throughput to the receiver of a session.
    pub(super) fn best_rate(&self, session: &super::Session) -> TransmitRate {
        let control = session.adaptive.map(|adaptive| &self.controls.0[adaptive.control].1);
        control.map_or(session.rate, |control| TransmitRate::Mode(control.best()))
    }

    /// Sets the rate of the next transmission of a session. Returns `true` if it is a probe, which has one
    /// MPDU.
    pub(super) fn choose_rate(&mut self, now: Instant, session: usize) -> bool {
        let Self { sessions, controls, random, .. } = self;
        let session = &mut sessions[session];
        let Some(adaptive) = &mut session.adaptive else { return false };
        if adaptive.chain.stage().is_none() {
            adaptive.chain = controls.0[adaptive.control].1.chain(now, random);
        }
        let Some(stage) = adaptive.chain.stage() else { return false };
        session.rate = TransmitRate::Mode(stage.mode);
        stage.is_probe
    }

    /// `true` if RTS and CTS precede the repetitions of a session at its slower rates.
    pub(super) fn is_later_stage(&self, session: usize) -> bool {
        self.sessions[session].adaptive.is_some_and(|adaptive| adaptive.chain.uses_rts())
    }

    /// The prepared MPDUs were transmitted, and as many were acknowledged; 0 if there was no response.
    pub(super) fn report_rate(&mut self, now: Instant, session: usize, received: u32) {
        let Self { sessions, controls, prepared, .. } = self;
        let session = &mut sessions[session];
        let (Some(adaptive), Some(mode)) = (&mut session.adaptive, session.rate.mode()) else { return };
        let control = &mut controls.0[adaptive.control].1;
        let mpdus = prepared.mpdus.len() as u32;
        control.report(mode, mpdus, received);
        if received > 0 {
            adaptive.chain = Chain::default();
        } else {
            adaptive.chain.fail();
        }
        if adaptive.chain.stage().is_none() {
            control.end_chain(now, mpdus);
        }
    }
}
