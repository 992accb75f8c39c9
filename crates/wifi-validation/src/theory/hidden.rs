//! Two senders that do not sense each other.

/// Two saturated senders of unacknowledged frames that do not sense each other. Each is a renewal process:
/// DIFS, a backoff of 0 to W - 1 slots, a frame. A frame is received if it lies in a gap of the other
/// process, that is, if the other sender is silent for its own length before it and after it has begun: a
/// vulnerable period of two frames, as in pure ALOHA (N. Abramson, "The ALOHA system", 1970).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HiddenPair {
    /// W: values of the backoff.
    pub window: u64,
    /// Slot time in microseconds.
    pub slot: u64,
    /// DIFS in microseconds.
    pub difs: u64,
    /// Time of a frame in microseconds.
    pub frame: u64,
}

impl HiddenPair {
    /// Probability that a frame is received. DIFS and the frame together must be a whole number of slots:
    /// then, if the senders begin together, their phase is uniform on a lattice of slots.
    pub fn success_probability(&self) -> f64 {
        let mut fitting = 0;
        let mut cycles = 0;
        for backoff in 0..self.window {
            let cycle = self.difs + backoff * self.slot + self.frame;
            cycles += cycle;
            // The frame begins a whole number of slots after the other one: at its end or later, and ends at
            // the beginning of the next one or earlier.
            let last = (cycle - self.frame) / self.slot;
            fitting += (last + 1).saturating_sub(self.frame.div_ceil(self.slot));
        }
        (fitting * self.slot) as f64 / cycles as f64
    }
}
