//! Loss models, made ready to run.

use std::io::BufReader;
use std::path::Path;

use whimbrel_inspect::losses::losses;
use whimbrel_netsim::Impairment;
use whimbrel_netsim::impairment::FourStateTransitions;
use whimbrel_netsim::trace::LossTrace;
use whimbrel_units::{Duration, Instant};

use super::notes::Note;
use super::quoted;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::link::{Loss, RecordingStart};

/// The impairment that `loss`, at `key`, describes; notes for a reader of the results go to `notes`.
pub(super) fn impairment(
    key: &str,
    loss: &Loss,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Impairment, ScenarioError> {
    check_start(&format!("{key}.start"), loss.recording())?;
    let impairment = match loss {
        Loss::None => Impairment::None,
        Loss::Bernoulli { rate, correlation } if correlation.0 > 0.0 => {
            Impairment::Correlated { loss: rate.0, correlation: correlation.0 }
        }
        Loss::Bernoulli { rate, .. } => Impairment::Bernoulli { loss: rate.0 },
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
            Impairment::GilbertElliott {
                good_to_bad: good_to_bad.0,
                bad_to_good: bad_to_good.0,
                loss_in_good: loss_in_good.0,
                loss_in_bad: loss_in_bad.0,
            }
        }
        Loss::TimedGilbertElliott { good, bad, loss_in_good, loss_in_bad } => {
            Impairment::TimedGilbertElliott {
                mean_good: good.0,
                mean_bad: bad.0,
                loss_in_good: loss_in_good.0,
                loss_in_bad: loss_in_bad.0,
            }
        }
        Loss::FourState { p13, p31, p32, p23, p14 } => Impairment::FourState(FourStateTransitions {
            p13: p13.0,
            p31: p31.map_or(1.0 - p13.0, |p31| p31.0),
            p32: p32.0,
            p23: p23.0,
            p14: p14.0,
        }),
        Loss::RunLength { rate, runs } => {
            Impairment::RunLength { loss_rate: rate.0, runs: runs.iter().map(|run| run.0).collect() }
        }
        Loss::Rayleigh(radio) => Impairment::Rayleigh(radio.model()),
        Loss::Mask { packets: Some(packets), file: None, length, repeat, .. } => {
            if *repeat && length.is_none() {
                let expected = "the number of packets that the list covers, needed to repeat it";
                return Err(ScenarioError::missing(format!("{key}.length"), expected));
            }
            Impairment::Mask { lost: packets.clone(), length: length.unwrap_or(u64::MAX), repeats: *repeat }
        }
        Loss::Mask { packets: None, file: Some(file), length, repeat, .. } => {
            if let Some(length) = length {
                let expected = "nothing: a file covers as many packets as it has marks";
                return Err(ScenarioError::invalid(format!("{key}.length"), length, expected));
            }
            let (lost, length) = mask(&format!("{key}.file"), files, file)?;
            Impairment::Mask { lost, length, repeats: *repeat }
        }
        Loss::Mask { .. } => {
            return Err(ScenarioError::missing(format!("{key}.packets"), "either `packets` or `file`"));
        }
        Loss::Trace { file, length, repeat, .. } => {
            let key = format!("{key}.file");
            let text = files.read(&key, file)?;
            let trace = LossTrace::parse(&text, length.map(|length| length.0), *repeat);
            Impairment::Trace(trace.map_err(|error| {
                let file = quoted(&file.display().to_string());
                ScenarioError::invalid(key, file, format!("a trace of losses ({error})"))
            })?)
        }
        Loss::Capture { file, port, repeat, .. } => {
            Impairment::Trace(captured(&format!("{key}.file"), files, file, *port, *repeat, notes)?)
        }
    };
    match impairment.check() {
        Ok(()) => Ok(impairment),
        Err(error) => Err(ScenarioError::invalid(key, "{...}", format!("a valid loss model ({error})"))),
    }
}

/// Refuses a random start of a recording that ends: a part of the run would meet none of it.
pub(super) fn check_start(key: &str, recording: Option<(RecordingStart, bool)>) -> Result<(), ScenarioError> {
    match recording {
        Some((RecordingStart::Random, false)) => {
            let expected = "\"beginning\", unless the recording repeats (`repeat = true`)";
            Err(ScenarioError::invalid(key, "\"random\"", expected))
        }
        _ => Ok(()),
    }
}

/// The packets that a file of zeros and ones loses, and the number that it covers.
fn mask(key: &str, files: &Files, file: &Path) -> Result<(Vec<u64>, u64), ScenarioError> {
    let text = files.read(key, file)?;
    let wrong =
        |expected: String| Err(ScenarioError::invalid(key, quoted(&file.display().to_string()), expected));
    let (mut lost, mut length) = (Vec::new(), 0);
    for mark in text.chars().filter(|mark| !mark.is_whitespace()) {
        match mark {
            '0' => {}
            '1' => lost.push(length),
            other => return wrong(format!("a file of 0 and 1 (packet {length} is `{other}`)")),
        }
        length += 1;
    }
    if length == 0 {
        return wrong("a file of 0 and 1 (it has neither)".to_owned());
    }
    Ok((lost, length))
}

/// The losses of a capture's stream.
fn captured(
    key: &str,
    files: &Files,
    file: &Path,
    port: Option<u16>,
    repeats: bool,
    notes: &mut Vec<Note>,
) -> Result<LossTrace, ScenarioError> {
    let name = file.display().to_string();
    let wrong = |expected: String| ScenarioError::invalid(key, quoted(&name), expected);
    let recording = losses(BufReader::new(files.open(key, file)?), port)
        .map_err(|error| wrong(format!("a pcap or pcapng file ({error})")))?
        .ok_or_else(|| {
            let to = port.map(|port| format!(" to port {port}")).unwrap_or_default();
            wrong(format!("a capture of a DCCP or RTP stream{to}"))
        })?;
    let at = |time: Duration| Instant::ZERO + time;
    let spans: Vec<_> = recording.spans.iter().map(|(from, to)| (at(*from), at(*to))).collect();
    // If the last two packets were captured in one moment the losses between them end later.
    let length = spans.last().map_or(recording.length, |last| recording.length.max(last.1 - Instant::ZERO));
    let trace = LossTrace::from_spans(&spans, Some(length), repeats)
        .map_err(|error| wrong(format!("a stream whose losses make a trace ({error})")))?;
    let others = match recording.streams {
        1 => "the only stream".to_owned(),
        streams => format!("the largest of {streams} streams"),
    };
    notes.push(Note::of_plan(
        key,
        format!(
            "losses of {}: {} of {} packets in {:.3} s; it is {others} of {name}",
            recording.stream,
            recording.lost,
            recording.lost + recording.passed,
            recording.length.as_secs_f64(),
        ),
    ));
    Ok(trace)
}
