//! Prints verdicts.

use std::ops::AddAssign;

use serde_json::{Value, json};
use whimbrel_control::loss_differentiation::{ClassifiedLoss, Evidence, LossClass, Scheme};
use whimbrel_units::Instant;

use super::arrivals::FileClock;
use crate::exit::Failure;
use crate::print;
use crate::table::Table;

/// Packets lost.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    wireless: u64,
    congestion: u64,
}

impl Totals {
    pub(super) fn of(losses: &[ClassifiedLoss]) -> Self {
        let packets =
            |cause| losses.iter().filter(|loss| loss.cause == cause).map(|loss| loss.count).sum::<u64>();
        Self { wireless: packets(LossClass::Wireless), congestion: packets(LossClass::Congestion) }
    }

    pub(super) fn json(self) -> Value {
        json!({ "wireless": self.wireless, "congestion": self.congestion })
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.wireless += other.wireless;
        self.congestion += other.congestion;
    }
}

/// Prints a line per loss and the totals, or one JSON object.
pub(super) fn print(
    scheme: Scheme,
    clock: &FileClock,
    losses: &[ClassifiedLoss],
    as_json: bool,
) -> Result<(), Failure> {
    let seconds = |at| clock.seconds(at);
    if !as_json {
        return print_table(scheme, &seconds, losses);
    }
    let whole = json!({
        "scheme": scheme.name(),
        "losses": rows(&seconds, losses),
        "packets": Totals::of(losses).json(),
    });
    print::line(whole.to_string())?;
    Ok(())
}

/// The losses as JSON objects; `seconds` converts their times.
pub(super) fn rows(seconds: &dyn Fn(Instant) -> f64, losses: &[ClassifiedLoss]) -> Vec<Value> {
    let row = |loss: &ClassifiedLoss| {
        json!({
            "first": loss.first,
            "count": loss.count,
            "revealed_s": round(seconds(loss.gap.after)),
            "cause": loss.cause.name(),
            "evidence": evidence_json(&loss.evidence),
        })
    };
    losses.iter().map(row).collect()
}

/// Prints a line per loss and the totals.
pub(super) fn print_table(
    scheme: Scheme,
    seconds: &dyn Fn(Instant) -> f64,
    losses: &[ClassifiedLoss],
) -> Result<(), Failure> {
    let mut table = Table::new(&["first", "lost", "revealed s", "cause", "evidence"], &[3, 4]);
    for loss in losses {
        table.row([
            loss.first.to_string(),
            loss.count.to_string(),
            format!("{:.6}", seconds(loss.gap.after)),
            loss.cause.name().to_owned(),
            evidence_text(&loss.evidence),
        ]);
    }
    print::line(table.for_stdout().trim_end())?;
    let (events, Totals { wireless, congestion }) = (losses.len(), Totals::of(losses));
    print::line(format!(
        "{scheme}: {} packets lost in {events} runs: {wireless} to the radio, {congestion} to congestion",
        wireless + congestion
    ))?;
    Ok(())
}

/// Rounds to the nanosecond, the resolution of the input.
fn round(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e9
}

fn evidence_text(evidence: &Evidence) -> String {
    let ms = |ns: f64| ns * 1e-6;
    match *evidence {
        Evidence::InterArrival { interval, minimum, .. } => format!(
            "T_i = {:.3} ms = {:.2} T_min",
            ms(interval.as_nanos() as f64),
            interval.as_nanos() as f64 / minimum.as_nanos() as f64
        ),
        Evidence::Spike { rott, minimum, maximum, in_spike } => format!(
            "{:.3} of {:.3} ms above the least trip time, {}",
            ms(rott - minimum),
            ms(maximum - minimum),
            if in_spike { "in a spike" } else { "no spike" }
        ),
        Evidence::Standing { rott, minimum, maximum, standing } => format!(
            "{:.3} of {:.3} ms above the least trip time, {:.3} ms on average",
            ms(rott - minimum),
            ms(maximum - minimum),
            ms(standing)
        ),
        Evidence::ZigZag { rott, mean, deviation, .. } => format!(
            "{:+.3} ms from the mean trip time, deviation {:.3} ms",
            ms(rott.0 as f64 - mean),
            ms(deviation)
        ),
        Evidence::Inherent { inherent, limit, sent, lost, excess } => format!(
            "{lost} of the last {sent} packets, inherent {:.1} %{}, excess {excess:.2} (1.92)",
            100.0 * inherent,
            limit.map_or_else(String::new, |limit| format!(" below {limit}"))
        ),
        _ => "none yet".to_owned(),
    }
}

fn evidence_json(evidence: &Evidence) -> Value {
    let mut value = json!({ "scheme": evidence.scheme() });
    if let Some(count) = evidence.count() {
        value["n"] = count.into();
    }
    for (name, measure) in Evidence::MEASURES {
        if let Some(seconds) = measure(evidence) {
            value[name] = round(seconds).into();
        }
    }
    if let Evidence::Spike { in_spike, .. } = evidence {
        value["in_spike"] = (*in_spike).into();
    }
    value
}
