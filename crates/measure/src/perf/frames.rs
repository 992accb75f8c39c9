//! Frames at the receiver: whole as they were sent, repaired, or given up.

use std::collections::VecDeque;

use super::datagram::Place;
use super::meter::ReceiverFigures;

/// Frames whose datagrams may still come.
const OPEN: usize = 8;

/// A frame whose datagrams may still come.
#[derive(Clone, Copy, Debug)]
struct Frame {
    number: u32,
    /// Datagrams that are missing; `None`: nothing has come.
    missing: Option<u16>,
    is_repaired: bool,
}

/// Counts frames as their datagrams arrive.
#[derive(Debug, Default)]
pub(super) struct FrameMeter {
    open: VecDeque<Frame>,
    newest: u32,
}

impl FrameMeter {
    /// A datagram has arrived for the first time; `is_repaired`: the path had lost it.
    pub(super) fn record(&mut self, place: Place, is_repaired: bool, figures: &mut ReceiverFigures) {
        if place.frame > self.newest {
            // Frames before the first one are not part of the test.
            let skipped = if self.newest == 0 { 0 } else { place.frame - self.newest - 1 };
            figures.frames_given_up += u64::from(skipped.saturating_sub(OPEN as u32));
            for number in place.frame - skipped.min(OPEN as u32)..=place.frame {
                self.open.push_back(Frame { number, missing: None, is_repaired: false });
            }
            self.newest = place.frame;
            while self.open.len() > OPEN {
                let oldest = self.open.pop_front();
                figures.frames_given_up += u64::from(oldest.is_some_and(|frame| frame.missing != Some(0)));
            }
        }
        // One that comes later than that was given up.
        let Some(frame) = self.open.iter_mut().find(|frame| frame.number == place.frame) else { return };
        frame.is_repaired |= is_repaired;
        let missing = frame.missing.unwrap_or(place.count).saturating_sub(1);
        if frame.missing.replace(missing) != Some(0) && missing == 0 {
            let count =
                if frame.is_repaired { &mut figures.frames_repaired } else { &mut figures.frames_whole };
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_whole_repaired_or_given_up() {
        let (mut meter, mut figures) = (FrameMeter::default(), ReceiverFigures::default());
        let mut record = |frame, index, is_repaired| {
            meter.record(Place { frame, index, count: 2 }, is_repaired, &mut figures);
        };
        record(7, 0, false);
        record(7, 1, false);
        // The second frame is repaired, the third lacks a datagram, the fourth and the fifth lack all.
        record(8, 1, false);
        record(8, 0, true);
        record(9, 0, false);
        record(12, 0, false);
        record(12, 1, false);
        // Overtaken datagrams are in time for the fifth.
        record(11, 0, false);
        record(11, 1, false);
        (13..30).for_each(|frame| (0..2).for_each(|index| record(frame, index, false)));
        // Many at once, and one that comes too late.
        record(1030, 0, false);
        record(10, 0, false);
        let FrameMeter { open, .. } = &meter;
        assert_eq!(open.len(), OPEN);
        assert_eq!((figures.frames_whole, figures.frames_repaired), (3 + 17, 1));
        assert_eq!(figures.frames_given_up, 2 + 1000 - (OPEN as u64 - 1));
    }
}
