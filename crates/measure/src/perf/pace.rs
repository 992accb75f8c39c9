//! Times and sizes of a stream's datagrams.

use whimbrel_units::Duration;

use super::datagram::{Head, Place};
use super::plan::Plan;

/// Time of the datagram with that number, counted from the beginning, and its size in bytes. Without a
/// time: as soon as the transport accepts it.
pub(crate) fn datagram(plan: &Plan, number: u64) -> (Option<Duration>, usize) {
    match &plan.load.media {
        Some(schedule) => {
            let (offset, entry) = schedule.nth(number);
            (Some(offset), (entry.size as usize).max(Head::LEN))
        }
        None => (plan.load.spacing().map(|spacing| spacing * number), plan.load.size as usize),
    }
}

/// The frames of a schedule: datagrams of one time.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    last: Option<(Duration, Place)>,
}

impl Frames {
    /// The place of the datagram with the next number; `None` without a schedule.
    pub(crate) fn place(&mut self, plan: &Plan, number: u64) -> Option<Place> {
        let schedule = plan.load.media.as_ref()?;
        let (offset, _) = schedule.nth(number);
        let place = match self.last {
            Some((last, place)) if last == offset => Place { index: place.index.saturating_add(1), ..place },
            last => {
                let frame = last.map_or(1, |(_, place)| place.frame.wrapping_add(1).max(1));
                let longest = (number..).take(usize::from(u16::MAX));
                let count = longest.take_while(|other| schedule.nth(*other).0 == offset).count() as u16;
                Place { frame, index: 0, count }
            }
        };
        self.last = Some((offset, place));
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_lab::traffic::Schedule;

    use super::super::plan;
    use super::*;

    #[test]
    fn datagrams_of_one_time_are_a_frame_also_when_the_schedule_begins_again() {
        let text = "time_s,size_bytes\n0,100\n0,100\n0.04,100\n0.08,100\n0.08,100\n0.08,100\n";
        let mut plan = plan::tests::plan();
        plan.load.media = Some(Schedule::parse_trace(text).expect("a trace"));
        let mut frames = Frames::default();
        let places: Vec<_> = (0..8).filter_map(|number| frames.place(&plan, number)).collect();
        let places: Vec<_> = places.iter().map(|it| (it.frame, it.index, it.count)).collect();
        assert_eq!(
            places,
            [(1, 0, 2), (1, 1, 2), (2, 0, 1), (3, 0, 3), (3, 1, 3), (3, 2, 3), (4, 0, 2), (4, 1, 2)]
        );
    }
}
