//! The sender's state table: Figure 7a, and what is beyond the paper.

#[cfg(test)]
mod tests;

/// What a sender is about (Figure 7a).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SenderState {
    /// TFRC as ever.
    #[default]
    Normal,
    /// Nothing is sent, and feedback is ignored (Section 4.4).
    Frozen,
    /// The old rate again; X_recv is ignored (Section 4.5).
    Restoring,
    /// The rate doubles each round-trip time (Section 4.6).
    Probing,
    /// Beyond the paper: probing has found the path's end by the receive rate, and the receiver is asked to fit its loss history to
    /// that.
    Settling,
}

/// What moves a sender from state to state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderInput {
    /// The command, or the peer's option.
    Freeze,
    /// The command, or the peer's option.
    Unfreeze,
    /// The command to probe without a freeze (make before break, Section 4).
    Probe,
    /// A report says that the path carries the rate: UNFROZEN without loss.
    Carried,
    /// A report ends the phase: p rose in Restoring, p left its range in Probing, the receiver has settled.
    Ended,
    /// By the second rule: the path does not carry the rate.
    Lagging,
    /// The nofeedback timer expired.
    Silent,
}

impl SenderState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Normal, Self::Frozen, Self::Restoring, Self::Probing, Self::Settling];

    /// The state that follows.
    ///
    /// ```text
    ///            Freeze  Unfreeze   Probe    Carried  Ended   Lagging   Silent
    /// Normal     Frozen  -          Probing  -        -       -         -
    /// Frozen     -       Restoring  -        -        -       -         -
    /// Restoring  Frozen  -          -        Probing  Normal  Settling  -
    /// Probing    Frozen  -          -        -        Normal  Settling  Normal
    /// Settling   Frozen  -          -        -        Normal  -         Normal
    /// ```
    #[must_use]
    pub fn after(self, input: SenderInput) -> Self {
        use SenderInput::{Carried, Ended, Freeze, Lagging, Probe, Silent, Unfreeze};
        match (self, input) {
            (_, Freeze) => Self::Frozen,
            (Self::Frozen, Unfreeze) => Self::Restoring,
            (Self::Normal, Probe) | (Self::Restoring, Carried) => Self::Probing,
            (Self::Restoring | Self::Probing, Lagging) => Self::Settling,
            (Self::Restoring | Self::Probing | Self::Settling, Ended)
            | (Self::Probing | Self::Settling, Silent) => Self::Normal,
            (state, _) => state,
        }
    }

    /// A short name, as in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Frozen => "frozen",
            Self::Restoring => "restoring",
            Self::Probing => "probing",
            Self::Settling => "settling",
        }
    }
}
