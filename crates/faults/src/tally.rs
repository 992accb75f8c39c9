//! Counts of events.

use core::fmt;
use std::collections::BTreeMap;

/// Events of one trial, or of many: counts and greatest values, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<String, u64>,
    /// Few, and searched many times per trial.
    greatest: Vec<(&'static str, u64)>,
}

impl Tally {
    /// Counts one event.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// Counts several events.
    pub fn add(&mut self, what: &str, times: u64) {
        match self.counts.get_mut(what) {
            Some(count) => *count += times,
            None => {
                self.counts.insert(what.to_owned(), times);
            }
        }
    }

    /// The number of events.
    pub fn times(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Records a value, of which the greatest is kept.
    pub fn observe(&mut self, what: &'static str, value: u64) {
        match self.greatest.iter_mut().find(|(name, _)| core::ptr::eq(*name, what) || *name == what) {
            Some((_, greatest)) => *greatest = value.max(*greatest),
            None => {
                self.greatest.push((what, value));
                self.greatest.sort_unstable();
            }
        }
    }

    /// The greatest value seen, or 0.
    pub fn greatest(&self, what: &str) -> u64 {
        self.greatest.iter().find(|(name, _)| *name == what).map_or(0, |(_, value)| *value)
    }

    /// Adds the counts of another tally.
    pub fn join(&mut self, other: &Self) {
        for (what, times) in &other.counts {
            self.add(what, *times);
        }
        for (what, value) in &other.greatest {
            self.observe(what, *value);
        }
    }

    /// Names and counts, by name.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(what, times)| (what.as_str(), *times))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, times) in &self.counts {
            writeln!(f, "{times:>12}  {what}")?;
        }
        for (what, value) in &self.greatest {
            writeln!(f, "{value:>12}  greatest: {what}")?;
        }
        Ok(())
    }
}
