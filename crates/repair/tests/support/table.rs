//! The rows of the table of bounds.

use whimbrel_units::Duration;

use super::simulation::{Loss, Outcome, Row};

/// A row and its bound.
pub(crate) struct Bound {
    pub name: String,
    pub row: Row,
    pub rounds: usize,
    /// The least overhead for at most 1e-4 missed frames; `None` if out of reach.
    pub overhead: Option<f64>,
    /// Missed frames with repeats alone.
    pub repeats: f64,
    pub note: String,
}

impl Bound {
    pub(crate) fn label(&self) -> String {
        let medium = if self.row.is_video { "video" } else { "audio" };
        format!(
            "{}, {medium}, {}, {}",
            self.name,
            self.row.round_trip.as_millis(),
            self.row.budget.as_millis()
        )
    }

    /// Checks the least overhead within [`MORE`], and the target as well: more missed frames have a
    /// probability below 1 % at the target.
    pub(crate) fn verdict(&self, outcome: &Outcome) -> Verdict {
        let Some(bound) = self.overhead else { return Verdict::NoBound };
        if outcome.missed > most_by_chance(TARGET * outcome.frames as f64) {
            Verdict::Misses
        } else if outcome.overhead > MORE * bound {
            Verdict::Costs
        } else {
            Verdict::Met
        }
    }

    /// A line of the report.
    pub(crate) fn line(&self, outcome: &Outcome) -> String {
        let bound = self.overhead.map_or("-".to_owned(), |bound| format!("{:.2}", bound * 100.0));
        let ratio = self.overhead.map_or("-".to_owned(), |bound| format!("{:.2}", outcome.overhead / bound));
        format!(
            "{} | {} | {bound} | {:.2} | {ratio} | {} = {:.1e} | {:.1e} | {:.2} | {}{}",
            self.label(),
            self.rounds,
            outcome.overhead * 100.0,
            outcome.missed,
            outcome.missed_share(),
            self.repeats,
            outcome.reports_per_frame,
            self.verdict(outcome).text(),
            if self.note.is_empty() { String::new() } else { format!(": {}", self.note) },
        )
    }
}

/// The share of the frames that may be missed, and what may be sent more than the least.
const TARGET: f64 = 1e-4;
pub(crate) const MORE: f64 = 1.15;

/// Result of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Met,
    Costs,
    Misses,
    NoBound,
}

impl Verdict {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Costs => "FAILS: costs more",
            Self::Misses => "FAILS: misses more",
            Self::NoBound => "no bound",
        }
    }
}

/// The number that is exceeded with a probability of 0.5 to 0.7 % if `mean` events are expected, for means
/// from 2 to 20 by the distribution of Poisson.
fn most_by_chance(mean: f64) -> u64 {
    (mean + 2.6 * mean.sqrt()).round() as u64
}

/// The rows in which the first copy is not late.
pub(crate) fn bounds() -> impl Iterator<Item = Bound> {
    let text = include_str!("../data/bounds.csv");
    text.lines().skip(1).filter_map(|line| {
        // The only name with a comma is in quotation marks.
        let line = line.replace("\"bursts of 8, 5 %\"", "bursts of 8; 5 %");
        let cells: Vec<&str> = line.split(',').collect();
        let number = |index: usize| cells[index].parse::<f64>().ok();
        let name = cells[0].replace(';', ",");
        let milliseconds = |index: usize| Duration::from_millis(cells[index].parse().expect("milliseconds"));
        // Not in time at all.
        number(7)?;
        Some(Bound {
            row: Row {
                loss: Loss::named(&name),
                is_video: cells[1] == "video",
                round_trip: milliseconds(2),
                budget: milliseconds(3),
                jitter: Duration::ZERO,
            },
            name,
            rounds: cells[4].parse().expect("rounds"),
            overhead: number(10),
            repeats: number(8)?,
            note: cells[15].to_owned(),
        })
    })
}
