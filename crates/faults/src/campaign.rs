//! Many trials.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Plan;
use crate::tally::Tally;
use crate::trial::Pair;
use crate::world::World;

/// The outcome of one trial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// Its number.
    pub seed: u64,
    /// The broken law, if any.
    pub broken: Option<String>,
    /// Counts of events.
    pub tally: Tally,
    /// A number that depends on every packet sent.
    pub digest: u64,
    /// The capture file, if requested.
    pub capture: Option<Vec<u8>>,
    /// The log, if requested: a line for each packet, event and action, with its time.
    pub log: Option<String>,
}

/// Runs the trial with that number. `record` keeps a capture and a log. A broken law, or any other
/// panic, is part of the result.
pub fn run_trial(seed: u64, record: bool) -> Trial {
    run_plan(Plan::draw(seed), record)
}

/// Runs a trial, as [`run_trial`] does.
pub fn run_plan(plan: Plan, record: bool) -> Trial {
    run_world(plan.seed, World::new(plan, record))
}

/// Runs a trial.
pub(crate) fn run_world(seed: u64, mut world: impl Pair) -> Trial {
    // A world with a broken law is only read afterwards.
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run()));
    let broken = outcome.err().map(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("at {}: {}", world.course().now, message.unwrap_or("a panic without a message"))
    });
    let course = world.course();
    let (tally, digest) = (std::mem::take(&mut course.tally), course.digest);
    let (capture, log) = course.take_record().unzip();
    Trial { seed, broken, tally, digest, capture, log }
}

/// A kind of trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Two endpoints.
    #[default]
    Endpoints,
    /// Connections over several paths.
    Multipath,
    /// Connections that repair losses.
    Repair,
}

/// Trials with numbers in a row.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The first number.
    pub first: u64,
    /// The number of trials.
    pub trials: u64,
    /// The number of trials run in parallel.
    pub jobs: usize,
    /// Trial kind.
    pub kind: Kind,
}

/// The outcome of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Counts of all events.
    pub tally: Tally,
    /// The trials in which a law was broken, by number, with the law.
    pub broken: Vec<(u64, String)>,
    /// A number that depends on every packet of every trial.
    pub digest: u64,
}

impl Campaign {
    /// Runs them all. `progress` is called after each trial with its result and the number of trials done.
    pub fn run(&self, progress: impl Fn(u64, &Trial) + Sync) -> Summary {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let summary = Mutex::new(Summary::default());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= self.trials {
                            break;
                        }
                        let seed = self.first + index;
                        let trial = match self.kind {
                            Kind::Endpoints => run_trial(seed, false),
                            Kind::Multipath => crate::run_multipath_trial(seed, false),
                            Kind::Repair => crate::run_repair_trial(seed, false),
                        };
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1, &trial);
                        let mut summary = summary.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        summary.add(trial);
                    }
                });
            }
        });
        let mut summary = summary.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        summary.broken.sort();
        summary
    }
}

impl Summary {
    fn add(&mut self, trial: Trial) {
        self.tally.join(&trial.tally);
        // The order in which trials end does not matter to a sum.
        self.digest = self.digest.wrapping_add(trial.digest.wrapping_mul(2 * trial.seed + 1));
        if let Some(law) = trial.broken {
            self.broken.push((trial.seed, law));
        }
    }
}
