//! A run in steps, whose rates and repair Python sets.

use numpy::IntoPyArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use self_cell::self_cell;
use whimbrel_control::media::External;
use whimbrel_lab::transport::SenderEstimate;
use whimbrel_lab::transport::repair::{Policy, RepairCounts, RepairLayer};
use whimbrel_lab::{Plan, Run};
use whimbrel_units::{DataRate, Instant};

use crate::detached::Signals;
use crate::{errors, simulation};

/// `None` after the results were taken.
type MaybeRun<'a> = Option<Run<'a>>;

self_cell!(
    struct OwnedRun {
        owner: Plan,
        #[not_covariant]
        dependent: MaybeRun,
    }
);

/// A simulation that advances in steps. Between them, the rates of flows with the controller `external` are
/// set, and the receiver's reports on them are read; so is the repair of flows with `kind = "external"`. The
/// arguments are the same as of `run`.
#[pyclass(unsendable)]
pub(crate) struct Session {
    run: OwnedRun,
    seed: u64,
    end: Instant,
    now: Instant,
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the results of this session have been taken")
}

impl Session {
    fn with_run<T>(&mut self, work: impl FnOnce(&mut Run<'_>) -> T) -> PyResult<T> {
        self.run.with_dependent_mut(|_, run| run.as_mut().map(work)).ok_or_else(ended)
    }

    fn with_external<T>(&mut self, flow: usize, work: impl FnOnce(&mut External) -> T) -> PyResult<T> {
        self.with_run(|run| run.external(flow).map(work))?
            .ok_or_else(|| errors::argument(format!("no flow {flow} with the controller external")))
    }

    fn with_repair<T>(
        &mut self,
        flow: usize,
        work: impl FnOnce(&mut RepairLayer, SenderEstimate) -> T,
    ) -> PyResult<T> {
        self.with_run(|run| run.external_repair(flow).map(|(repair, estimate)| work(repair, estimate)))?
            .ok_or_else(|| errors::argument(format!("no flow {flow} with the repair external")))
    }

    /// The flows that `is_chosen`: name and number.
    fn chosen(&mut self, is_chosen: impl Fn(&mut Run<'_>, usize) -> bool) -> PyResult<Vec<(String, usize)>> {
        let names: Vec<String> = self.run.borrow_owner().flows.iter().map(|flow| flow.name.clone()).collect();
        self.with_run(|run| names.into_iter().zip(0..).filter(|(_, flow)| is_chosen(run, *flow)).collect())
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (scenario, seed, set = Vec::new(), packets = false, base = String::new()))]
    fn new(scenario: &str, seed: u64, set: Vec<String>, packets: bool, base: String) -> PyResult<Self> {
        let plan = simulation::plan(scenario, &set, packets, base)?;
        let end = plan.end;
        let run = OwnedRun::new(plan, |plan| Some(Run::new(plan, seed)));
        Ok(Self { run, seed, end, now: Instant::ZERO })
    }

    /// Records the run from now on for `replay_page`, with at most `frames` frames on the air of a medium.
    fn record_replay(&mut self, frames: usize) -> PyResult<()> {
        self.with_run(|run| run.record_replay(frames))
    }

    /// The page that replays the run so far, as `run --watch` writes it; `None` if it was not recorded.
    fn replay_page(&mut self) -> PyResult<Option<String>> {
        let seed = self.seed;
        let made = self
            .run
            .with_dependent_mut(|_, run| run.as_ref().map(|run| whimbrel_cli::replay_page(run, seed)));
        made.ok_or_else(ended)
    }

    /// The flows whose rates can be set: name to number.
    fn flows(&mut self) -> PyResult<Vec<(String, usize)>> {
        self.chosen(|run, flow| run.external(flow).is_some())
    }

    /// The flows whose repair can be set: name to number.
    fn repaired(&mut self) -> PyResult<Vec<(String, usize)>> {
        self.chosen(|run, flow| run.external_repair(flow).is_some())
    }

    /// Duration of the run in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.end.as_secs_f64()
    }

    /// The simulated time in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Sets the rate of a flow in bit/s, headers included, and returns the rate within the flow's limits.
    fn set_rate(&mut self, flow: usize, rate: f64) -> PyResult<f64> {
        if !rate.is_finite() || rate < 0.0 {
            return Err(errors::argument(format!("the rate is {rate}; expected bit/s, 0 or more")));
        }
        self.with_external(flow, |external| {
            external.set_rate(DataRate::from_bits_per_second(rate));
            external.rate().as_bits_per_second()
        })
    }

    /// Advances to a time in seconds, and returns `true` if the run has ended.
    fn advance(&mut self, until_s: f64) -> PyResult<bool> {
        if until_s.is_nan() {
            return Err(errors::argument("the time is not a number"));
        }
        let until = Instant::from_secs_f64(until_s.max(0.0)).min(self.end);
        if until > self.now {
            let mut signals = Signals::default();
            self.with_run(|run| run.advance(until, |_| signals.check()))?;
            signals.into_result()?;
            self.now = until;
        }
        Ok(self.now >= self.end)
    }

    /// The packets of a flow that were reported since the last call: columns `sequence`, `sent_s`,
    /// `received_s` (NaN if it was reported missing), `size` in bytes and `is_marked`; and `rtt_s`, the
    /// latest round-trip time, NaN before the first.
    fn reports<'py>(&mut self, py: Python<'py>, flow: usize) -> PyResult<Bound<'py, PyDict>> {
        let (mut sequence, mut sent, mut received) = (Vec::new(), Vec::new(), Vec::new());
        let (mut size, mut marked) = (Vec::new(), Vec::new());
        let rtt = self.with_external(flow, |external| {
            for report in external.take_reports() {
                sequence.push(report.sent.sequence);
                sent.push(report.sent.sent_at.as_secs_f64());
                received.push(report.arrival().map_or(f64::NAN, Instant::as_secs_f64));
                size.push(report.sent.size.as_u64());
                marked.push(report.is_marked());
            }
            external.rtt().map_or(f64::NAN, |rtt| rtt.as_secs_f64())
        })?;
        let columns = PyDict::new(py);
        columns.set_item("sequence", sequence.into_pyarray(py))?;
        columns.set_item("sent_s", sent.into_pyarray(py))?;
        columns.set_item("received_s", received.into_pyarray(py))?;
        columns.set_item("size", size.into_pyarray(py))?;
        columns.set_item("is_marked", marked.into_pyarray(py))?;
        columns.set_item("rtt_s", rtt)?;
        Ok(columns)
    }

    /// Sets the repair of a flow: coded packets as a share of each frame's, and whether lost packets are
    /// repeated.
    fn set_repair(&mut self, flow: usize, parity: f64, repeats: bool) -> PyResult<()> {
        if !(0.0..=1.0).contains(&parity) {
            return Err(errors::argument(format!("the share of coded packets is {parity}; expected 0 to 1")));
        }
        self.with_repair(flow, |repair, _| repair.set_policy(Policy { parity, repeats }))
    }

    /// The knowledge of the sending end of a repaired flow: times in seconds, shares, the rate in bit/s that
    /// congestion control allows, and counters since the start. Before the ends have agreed on repair there
    /// are no losses, and no round-trip time.
    fn repair<'py>(&mut self, py: Python<'py>, flow: usize) -> PyResult<Bound<'py, PyDict>> {
        let (latency, counts, rate) = self.with_repair(flow, |repair, estimate| {
            (repair.config().latency, repair.counts(), estimate.allowed_rate)
        })?;
        let known = |value: fn(&RepairCounts) -> f64, else_: f64| counts.as_ref().map_or(else_, value);
        let sent = counts.map(|counts| counts.sent).unwrap_or_default();
        let fields = PyDict::new(py);
        fields.set_item("latency_s", latency.as_secs_f64())?;
        fields.set_item("budget_s", known(|counts| counts.budget.as_secs_f64(), latency.as_secs_f64()))?;
        fields.set_item("rtt_s", known(|counts| counts.round_trip.as_secs_f64(), f64::NAN))?;
        fields.set_item("rate", rate)?;
        fields.set_item("loss_rate", known(|counts| counts.loss, 0.0))?;
        fields.set_item("burst_length", known(|counts| counts.burst, 1.0))?;
        fields.set_item("sent", sent.source)?;
        fields.set_item("repeated", sent.repeats)?;
        fields.set_item("coded", sent.parity + sent.surplus)?;
        fields.set_item("lost_frames", sent.lost_frames)?;
        Ok(fields)
    }

    /// Runs to the end and returns the tables, as `run` does. The session has ended then.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.advance(f64::INFINITY)?;
        let finished = self.run.with_dependent_mut(|_, run| run.take()).ok_or_else(ended)?;
        simulation::tables(py, finished.into_record())
    }
}
