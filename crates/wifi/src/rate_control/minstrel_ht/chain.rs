//! The modes of a transmission and its repetitions.

use crate::phy::Mode;

/// A mode and how often it is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The mode.
    pub mode: Mode,
    /// Transmissions in this mode.
    pub tries: u32,
    /// The mode is tried with one MPDU.
    pub is_probe: bool,
}

/// The stages of a transmission.
#[derive(Clone, Copy, Default, Debug)]
pub struct Chain {
    stages: [Option<Stage>; 5],
    place: usize,
    /// Transmissions in the present stage so far.
    tried: u32,
}

impl Chain {
    pub(super) fn push(&mut self, stage: Stage) {
        if let Some(free) = self.stages.iter_mut().find(|stage| stage.is_none()) {
            *free = Some(stage);
        }
    }

    /// The present stage; `None` at the end.
    pub fn stage(&self) -> Option<Stage> {
        self.stages.get(self.place).copied().flatten()
    }

    /// `true` if RTS and CTS are to precede the transmission: all stages but the first.
    pub const fn uses_rts(&self) -> bool {
        self.place > 0
    }

    /// A transmission had no response.
    pub fn fail(&mut self) {
        self.tried += 1;
        if self.stage().is_none_or(|stage| self.tried >= stage.tries) {
            self.place += 1;
            self.tried = 0;
        }
    }
}
