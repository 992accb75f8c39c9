//! Runs of several seeds side by side.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use thiserror::Error;
use whimbrel_netsim::RunOutcome;

use super::Run;
use crate::record::Record;
use crate::scenario::Plan;

/// Control over a set of runs, from any thread: interrupts them.
#[derive(Debug, Default)]
pub struct Control {
    interrupted: AtomicBool,
}

impl Control {
    /// Interrupts all runs with this control.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// `true` if the runs are to be interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// The runs were interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Runs `plan` once with each of the seeds, on `threads` threads at most.
///
/// `on_record` receives the position of each seed whose run has ended, on the thread that ran it.
///
/// # Errors
/// If `control` interrupts the runs.
pub fn run_many(
    plan: &Plan,
    seeds: &[u64],
    threads: usize,
    control: &Control,
    on_record: impl Fn(usize) + Sync,
) -> Result<Vec<Record>, Interrupted> {
    let next = AtomicUsize::new(0);
    let records: Mutex<Vec<Option<Record>>> = Mutex::new(seeds.iter().map(|_| None).collect());
    let work = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = seeds.get(position) else { return };
            let mut run = Run::new(plan, *seed);
            let outcome = run.execute(|_| {
                if control.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if outcome == RunOutcome::Interrupted {
                return;
            }
            let record = run.into_record();
            // Nothing panics while the lock is held.
            records.lock().unwrap_or_else(|poison| poison.into_inner())[position] = Some(record);
            on_record(position);
        }
    };
    let threads = threads.clamp(1, seeds.len().max(1));
    if threads == 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    let records = records.into_inner().unwrap_or_else(|poison| poison.into_inner());
    records.into_iter().collect::<Option<Vec<_>>>().ok_or(Interrupted)
}
