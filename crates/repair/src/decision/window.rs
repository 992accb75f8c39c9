//! Parity over a sliding window, without requests.

use alloc::vec;
use alloc::vec::Vec;

use crate::channel::Channel;

/// Parts of a packet per frame in which parity is given out: steps of at most 2.5 % of the source, in at most
/// 40 frames.
fn parts_for(packets: usize) -> usize {
    80_usize.div_ceil(packets).min(40)
}
/// Missing equations that are told apart.
const MOST_MISSING: usize = 160;
/// Frames until the walk has forgotten where it began.
const SETTLE: usize = 80;

/// A share of parity over a window of frames.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowPlan {
    /// Repair packets per packet.
    pub overhead: f64,
    /// Share of frames that are missed.
    pub missed: f64,
}

/// `[state before][missing equations gained, plus the parity][state after]`, with the share in which a packet
/// of the frame is lost.
struct Step {
    parity: usize,
    all: Vec<[[f64; 2]; 2]>,
    with_loss: Vec<[[f64; 2]; 2]>,
}

impl Step {
    fn new(channel: &Channel, packets: usize, parity: usize) -> Self {
        let (source, repair) = (channel.joint(packets), channel.joint(parity));
        let mut all = vec![[[0.0; 2]; 2]; packets + parity + 1];
        let mut with_loss = all.clone();
        for from in 0..2 {
            for (lost, between) in source[from].iter().enumerate() {
                for via in 0..2 {
                    for (repairs_lost, to) in repair[via].iter().enumerate() {
                        // Lost packets minus arrived parity, made positive.
                        let change = lost + repairs_lost;
                        for after in 0..2 {
                            let probability = between[via] * to[after];
                            all[change][from][after] += probability;
                            if lost > 0 {
                                with_loss[change][from][after] += probability;
                            }
                        }
                    }
                }
            }
        }
        Self { parity, all, with_loss }
    }

    /// The next distribution of `[missing][state]`. What reaches zero stays only if `restart`.
    fn apply(&self, table: &[[[f64; 2]; 2]], walk: &[[f64; 2]], out: &mut [[f64; 2]], restart: bool) {
        out.fill([0.0; 2]);
        for (missing, states) in walk.iter().enumerate() {
            if states[0] + states[1] < 1e-18 {
                continue;
            }
            for (change, moves) in table.iter().enumerate() {
                let next = (missing + change).saturating_sub(self.parity).min(out.len() - 1);
                if next == 0 && !restart {
                    continue;
                }
                for (from, share) in states.iter().enumerate() {
                    out[next][0] += share * moves[from][0];
                    out[next][1] += share * moves[from][1];
                }
            }
        }
    }
}

/// Share of the frames of `packets` packets that are missed with `parity` repair packets in `parts` frames
/// and a window of `frames` frames, the frame itself included.
fn missed(channel: &Channel, packets: usize, parity: usize, frames: usize) -> f64 {
    let parts = parts_for(packets);
    let count = |frame: usize| (frame + 1) * parity / parts - frame * parity / parts;
    let (few, many) = (parity / parts, parity.div_ceil(parts));
    let steps = [Step::new(channel, packets, few), Step::new(channel, packets, many)];
    let step = |frame: usize| &steps[usize::from(count(frame % parts) == many)];
    let states = (4 * packets * frames.min(8)).clamp(16, MOST_MISSING);
    let (mut walk, mut next) = (vec![[0.0; 2]; states], vec![[0.0; 2]; states]);
    walk[0] = channel.stationary();
    for frame in 0..SETTLE {
        step(frame).apply(&step(frame).all, &walk, &mut next, true);
        core::mem::swap(&mut walk, &mut next);
    }
    let (mut sum, mut late) = (0.0, vec![[0.0; 2]; states]);
    for frame in SETTLE..SETTLE + parts {
        step(frame).apply(&step(frame).with_loss, &walk, &mut late, false);
        for later in frame + 1..frame + frames {
            step(later).apply(&step(later).all, &late, &mut next, false);
            core::mem::swap(&mut late, &mut next);
        }
        sum += late.iter().flatten().sum::<f64>();
        step(frame).apply(&step(frame).all, &walk, &mut next, true);
        core::mem::swap(&mut walk, &mut next);
    }
    sum / parts as f64
}

/// Share of the frames of `packets` packets that are missed with a share of parity and a window of `frames`
/// frames, the frame itself included.
#[must_use]
pub fn window_missed(channel: &Channel, packets: usize, share: f64, frames: usize) -> f64 {
    missed(channel, packets.max(1), parts(packets, share), frames.max(1))
}

fn parts(packets: usize, share: f64) -> usize {
    // Rounded up, but for an error of representation.
    let exact = share.clamp(0.0, 1.0) * (packets.max(1) * parts_for(packets.max(1))) as f64 - 1e-9;
    exact as usize + usize::from(exact > 0.0)
}

/// The least share of parity, at most one, with which at most `target` of the frames are missed. `None` if
/// none does.
#[must_use]
pub(super) fn cheapest(channel: &Channel, packets: usize, frames: usize, target: f64) -> Option<WindowPlan> {
    let (packets, frames) = (packets.max(1), frames.max(1));
    let whole = packets * parts_for(packets);
    let (mut low, mut high) = (0, whole);
    let mut best = missed(channel, packets, high, frames);
    if best > target {
        return None;
    }
    while high - low > 1 {
        let middle = (low + high) / 2;
        let now = missed(channel, packets, middle, frames);
        if now <= target {
            (high, best) = (middle, now);
        } else {
            low = middle;
        }
    }
    Some(WindowPlan { overhead: high as f64 / whole as f64, missed: best })
}

#[cfg(test)]
mod tests;
