//! Loss recovery of a transport, and its undo (draft-ietf-ccwg-bbr, Sections 5.5.11 and 5.6.4.4).

use super::{Model, State};

/// The model before a loss recovery, in case that it was spurious.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Undo {
    /// The state that the losses ended.
    pub(super) state: Option<State>,
    bw_short_term: f64,
    in_flight_short_term: f64,
    long_term: f64,
}

impl Default for Undo {
    /// Raises no bound.
    fn default() -> Self {
        Self { state: None, bw_short_term: 0.0, in_flight_short_term: 0.0, long_term: 0.0 }
    }
}

impl Model {
    /// A loss recovery begins (OnEnterFastRecovery).
    pub fn begin_recovery(&mut self) {
        self.save_window();
        self.in_recovery = Some(true);
    }

    /// All losses are repaired, if there were any: the window before the recovery is restored.
    pub fn end_recovery(&mut self) {
        if self.in_recovery == Some(true) {
            self.restore_window();
            self.in_recovery = Some(false);
        }
    }

    /// The retransmission timer has expired (OnEnterRTO): one packet may leave beyond those in flight.
    pub fn on_timeout(&mut self) {
        self.save_window();
        self.in_recovery = self.in_recovery.map(|_| true);
        self.window = self.in_flight + self.segment;
    }

    /// The losses of the last recovery were none (HandleSpuriousLossDetection).
    pub fn on_spurious_recovery(&mut self) {
        let Undo { state, bw_short_term, in_flight_short_term, long_term } = core::mem::take(&mut self.undo);
        self.restore_window();
        self.in_recovery = self.in_recovery.map(|_| false);
        self.loss_in_round = false;
        self.full_pipe.reset(0.0);
        self.bw_short_term = self.bw_short_term.max(bw_short_term);
        self.in_flight_short_term = self.in_flight_short_term.max(in_flight_short_term);
        self.long_term = self.long_term.max(long_term);
        match state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }

    /// SaveStateUponLoss, without the window.
    pub(super) const fn save_model(&mut self) {
        self.undo = Undo {
            state: None,
            bw_short_term: self.bw_short_term,
            in_flight_short_term: self.in_flight_short_term,
            long_term: self.long_term,
        };
    }

    /// SaveCwnd.
    pub(super) fn save_window(&mut self) {
        self.saved_window = if self.state == State::ProbeRtt || self.in_recovery.unwrap_or(self.loss_in_round)
        {
            self.saved_window.max(self.window)
        } else {
            self.window
        };
    }

    /// RestoreCwnd.
    pub(crate) const fn restore_window(&mut self) {
        self.window = self.window.max(self.saved_window);
    }
}
