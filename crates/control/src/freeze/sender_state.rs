//! The sender's state table: Figure 7a with an extension.

#[cfg(test)]
mod tests;

/// State of a sender (Figure 7a).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SenderState {
    /// Normal TFRC operation.
    #[default]
    Normal,
    /// Nothing is sent, and feedback is ignored (Section 4.4).
    Frozen,
    /// The old rate is used again; X_recv is ignored (Section 4.5).
    Restoring,
    /// The rate doubles each round-trip time (Section 4.6).
    Probing,
    /// Extension: probing has found the capacity of the path by the receive rate, and the receiver is
    /// requested to fit its loss history to it.
    Settling,
}

/// Inputs of the sender's state table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderInput {
    /// Freeze command, or the peer's option.
    Freeze,
    /// Unfreeze command, or the peer's option.
    Unfreeze,
    /// Command to probe without a freeze (make before break, Section 4).
    Probe,
    /// A report shows that the path carries the rate: UNFROZEN without loss.
    Carried,
    /// A report ends the phase: p rose in Restoring, p left its range in Probing, the receiver has settled.
    Ended,
    /// Second criterion: the path does not carry the rate.
    Lagging,
    /// The nofeedback timer expired.
    Silent,
}

impl SenderState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Normal, Self::Frozen, Self::Restoring, Self::Probing, Self::Settling];

    /// Returns the next state.
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

    /// Short name, as used in records.
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
