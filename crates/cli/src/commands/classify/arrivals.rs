//! Reads packets that arrived from a CSV file.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use csv::{ReaderBuilder, StringRecord, Trim};
use whimbrel_control::loss_differentiation::{PacketArrival, SequenceBits};
use whimbrel_units::{ByteCount, Instant};

use super::schemes_without_send_times;
use crate::bounded_lines::BoundedLines;

/// The contents of the file.
#[derive(Debug)]
pub(super) struct Arrivals {
    pub(super) packets: Vec<PacketArrival>,
    pub(super) clock: FileClock,
    /// Number of bits of the file's sequence numbers, if they wrap.
    pub(super) bits: Option<SequenceBits>,
}

/// One of the file's two clocks. Each is read relative to its first reading: that keeps the precision,
/// and trip times are relative anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileClock {
    first_s: Option<f64>,
}

impl FileClock {
    /// Nanoseconds after the first reading.
    fn read(&mut self, seconds: f64) -> i64 {
        ((seconds - *self.first_s.get_or_insert(seconds)) * 1e9).round() as i64
    }

    /// An arrival's instant as the file writes it; none is before the first.
    pub(super) fn seconds(&self, at: Instant) -> f64 {
        let first = PacketArrival::recorded(0, ByteCount::ZERO, 0, None).at;
        self.first_s.unwrap_or_default() + (at - first).as_secs_f64()
    }
}

/// Positions of the columns.
struct Columns {
    sequence: usize,
    received: usize,
    sent: Option<usize>,
    size: Option<usize>,
}

/// Reads a file; every error names the line, the column and the value. `bits` is the width of the sequence
/// numbers; detected if `None`.
pub(super) fn read(
    path: &Path,
    needs_send_times: bool,
    bits: Option<Option<SequenceBits>>,
) -> anyhow::Result<Arrivals> {
    let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let mut reader =
        ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(BoundedLines::new(file));
    parse(&mut reader, needs_send_times, bits).with_context(|| path.display().to_string())
}

fn parse<R: std::io::Read>(
    reader: &mut csv::Reader<R>,
    needs_send_times: bool,
    bits: Option<Option<SequenceBits>>,
) -> anyhow::Result<Arrivals> {
    let columns = columns(reader.headers()?, needs_send_times)?;
    let (mut packets, mut lines): (Vec<PacketArrival>, Vec<u64>) = (Vec::new(), Vec::new());
    let (mut clock, mut sender_clock) = (FileClock::default(), FileClock::default());
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |name, index| number(&record, line, name, index);
        let received = field("received", columns.received)?;
        let size = match columns.size {
            Some(index) => ByteCount::new(field("size", index)? as u64),
            None => ByteCount::new(1),
        };
        let sent = match columns.sent {
            Some(index) => Some(sender_clock.read(field("sent", index)?)),
            None => None,
        };
        let number = sequence(&record, line, columns.sequence)?;
        let arrival = PacketArrival::recorded(number, size, clock.read(received), sent);
        if packets.last().is_some_and(|last| last.at > arrival.at) {
            bail!(
                "line {line}: received is {received}, before the line above; expected the order of arrival"
            );
        }
        packets.push(arrival);
        lines.push(line);
    }
    let bits = bits.unwrap_or_else(|| SequenceBits::detect(packets.iter().map(|packet| packet.sequence)));
    if let Some(bits) = bits {
        bits.unwrap(&mut packets).map_err(|place| {
            let (line, number) = (lines[place], packets[place].sequence);
            anyhow!("line {line}: sequence is {number}, expected a number of {} bits", bits.get())
        })?;
    }
    Ok(Arrivals { packets, clock, bits })
}

fn columns(headings: &StringRecord, needs_send_times: bool) -> anyhow::Result<Columns> {
    let find = |name| headings.iter().position(|heading| heading == name);
    let missing = |name| {
        let found: Vec<_> = headings.iter().collect();
        anyhow!("line 1: no column {name}; expected sequence, sent, received and found {}", found.join(", "))
    };
    let sent = find("sent");
    if needs_send_times && sent.is_none() {
        let others = schemes_without_send_times();
        return Err(missing("sent").context(format!("this scheme uses trip times; {others} do not")));
    }
    Ok(Columns {
        sequence: find("sequence").ok_or_else(|| missing("sequence"))?,
        received: find("received").ok_or_else(|| missing("received"))?,
        sent,
        size: find("size"),
    })
}

fn sequence(record: &StringRecord, line: u64, index: usize) -> anyhow::Result<u64> {
    let text = &record[index];
    text.parse().map_err(|_| anyhow!("line {line}: sequence is {text:?}, expected a whole number from 0"))
}

fn number(record: &StringRecord, line: u64, name: &str, index: usize) -> anyhow::Result<f64> {
    let text = &record[index];
    let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite() && value.abs() < 1e12);
    value.ok_or_else(|| anyhow!("line {line}: {name} is {text:?}, expected a number of seconds"))
}

#[cfg(test)]
mod tests;
