//! `whimbrel fit`: fits loss models to recorded losses, and the parameters of a cell to recorded delays.

mod cell;
mod packets;
mod source;
mod text;

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use whimbrel_inspect::loss_fit::{FittedModel, LossFit, LossRuns, ModelKind, fit};

use crate::exit::Failure;
use crate::print;
use source::Source;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel fit examples/captures/call.pcapng.gz\n  \
                  whimbrel fit examples/captures/call.pcapng.gz --json\n  \
                  whimbrel fit examples/captures/call.pcapng.gz --model four-state --toml\n  \
                  whimbrel fit --cell lte/down.delays.csv\n\n\
                  The file is a capture (pcap or pcapng) behind the losses, in which missing sequence numbers of an RTP stream or\n\
                  of a DCCP connection are losses, a directory of `run --out` with packets.csv (record.packets = true), or a text of 0\n\
                  (delivered) and 1 (lost), one per packet. The models are fitted by\n\
                  maximum likelihood and ranked by the Bayesian information criterion; docs/fit.md describes them.")]
pub(crate) struct FitArgs {
    /// A capture, plain or compressed with gzip (`-`: standard input), a directory of `run --out`, or a text
    /// of 0 and 1.
    file: PathBuf,
    /// Destination port of the stream of a capture [default: the stream with the most packets]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Flow of a run's table of packets [default: the flow with the most packets]
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// The model whose scenario fragment is printed [default: the one with the lowest criterion]
    #[arg(long, value_name = "MODEL")]
    model: Option<Model>,
    /// Print only the scenario fragment, `loss = { ... }`.
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// Estimate the parameters of a cell instead, from the delays in a directory of `run --out` or in the
    /// `delays.csv` of a recording
    #[arg(long, conflicts_with_all = ["model", "toml", "port"])]
    cell: bool,
    /// Print everything as JSON, on one line.
    #[arg(long)]
    json: bool,
}

/// A model by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Model {
    /// Independent losses.
    Bernoulli,
    /// Two states; a packet is lost exactly in the bad one.
    SimpleGilbert,
    /// Two hidden states; no loss in the good one.
    Gilbert,
    /// Two hidden states, each with a loss probability.
    GilbertElliott,
    /// NetEm's four states.
    FourState,
}

impl Model {
    fn kind(self) -> ModelKind {
        match self {
            Self::Bernoulli => ModelKind::Bernoulli,
            Self::SimpleGilbert => ModelKind::SimpleGilbert,
            Self::Gilbert => ModelKind::Gilbert,
            Self::GilbertElliott => ModelKind::GilbertElliott,
            Self::FourState => ModelKind::FourState,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    if args.cell {
        let streams = cell::read(&args.file, args.flow.as_deref())
            .with_context(|| format!("{}", args.file.display()))?;
        return Ok(print::line(if args.json { cell::json(&streams) } else { cell::text(&streams) })?);
    }
    let source = Source::read(&args.file, args.port, args.flow.as_deref())?;
    let fitted = fit(&source.runs).with_context(|| source.name.clone())?;
    let chosen = chosen(&fitted, args.model)?;
    if args.toml {
        print::line(format!("loss = {}", chosen.model.toml()))?;
    } else if args.json {
        print::line(document(&source, &fitted, chosen))?;
    } else {
        print::line(text::report(&source, &fitted, chosen).trim_end())?;
    }
    Ok(())
}

fn chosen(fitted: &LossFit, model: Option<Model>) -> anyhow::Result<&FittedModel> {
    let Some(model) = model else { return Ok(fitted.best()) };
    let kind = model.kind();
    fitted.models.iter().find(|one| one.kind == kind).ok_or_else(|| {
        anyhow!(
            "--model {}: {} of {} packets lost do not determine it",
            kind.name(),
            fitted.lost,
            fitted.packets
        )
    })
}

/// A length of bursts with the number of bursts observed, and expected under the model.
struct BurstRow {
    length: u64,
    observed: u64,
    expected: f64,
}

/// The lengths of bursts up to the longest observed, at most `most` of them, and the rest: its least length,
/// and numbers.
fn burst_rows(runs: &LossRuns, model: &FittedModel, most: u64) -> (Vec<BurstRow>, Option<BurstRow>) {
    let bursts = runs.bursts();
    let number: u64 = bursts.values().sum();
    let longest = bursts.keys().next_back().copied().unwrap_or(0).min(most);
    let (shares, rest) = model.model.burst_lengths(longest);
    let rows = (1..=longest).zip(shares).map(|(length, share)| BurstRow {
        length,
        observed: bursts.get(&length).copied().unwrap_or(0),
        expected: share * number as f64,
    });
    let beyond = BurstRow {
        length: longest + 1,
        observed: bursts.range(longest + 1..).map(|(_, count)| count).sum(),
        expected: rest * number as f64,
    };
    (rows.collect(), (number > 0).then_some(beyond))
}

/// The longest burst that has a row in JSON.
const JSON_BURSTS: u64 = 1_000;

fn document(source: &Source, fitted: &LossFit, chosen: &FittedModel) -> Value {
    let model = |one: &FittedModel| {
        json!({
            "model": one.kind.name(),
            "log_likelihood": one.log_likelihood,
            "bic": one.bic,
            "fitted_parameters": one.kind.fitted_parameters(),
            "parameters": one.parameters,
            "loss": one.model.toml(),
        })
    };
    let (rows, rest) = burst_rows(&source.runs, chosen, JSON_BURSTS);
    let row =
        |row: &BurstRow| json!({ "length": row.length, "observed": row.observed, "expected": row.expected });
    json!({
        "file": source.name,
        "stream": source.stream,
        "packets": fitted.packets,
        "lost": fitted.lost,
        "loss_rate": fitted.loss_rate,
        "mean_burst": source.mean_burst(),
        "models": fitted.models.iter().map(model).collect::<Vec<_>>(),
        "best": fitted.best().kind.name(),
        "chosen": chosen.kind.name(),
        "bursts": rows.iter().map(row).collect::<Vec<_>>(),
        "longer_bursts": rest.as_ref().map(row),
    })
}
