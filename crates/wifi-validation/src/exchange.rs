//! An exchange of three stations, drawn.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{Event, MacConfig, Outgoing, Step};
use whimbrel_wifi::frame::{FrameKind, MacAddress};
use whimbrel_wifi::medium::{Link, MediumConfig};
use whimbrel_wifi::phy::{Phy, Preamble, Rate, RateSet};

use crate::cell::Cell;
use whimbrel_wifi::StationIndex;

/// A time in which a station transmits, or does not because the medium is reserved. Times in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The station.
    pub station: u32,
    /// The frame; `None` for a reservation (NAV).
    pub frame: Option<FrameKind>,
    /// Beginning.
    pub start: u64,
    /// End.
    pub end: u64,
    /// Duration field of the frame.
    pub reserves: u64,
}

/// Three stations in a row, 300 m or 1 us apart: 0 sends 1508 bytes at 11 Mbit/s to 1 by RTS/CTS, with
/// control frames at 1 Mbit/s and the long preamble; 2 receives only 1. The payload arrives at 100 us on an
/// idle medium.
pub fn three_stations() -> Vec<Span> {
    let link = |station| Link { station, delay: 1_000, power: 1e-9, is_corrupted: false };
    let links = vec![
        vec![link(StationIndex(1))],
        vec![link(StationIndex(0)), link(StationIndex(2))],
        vec![link(StationIndex(1))],
    ];
    let phy = Phy { basic: RateSet::new(&[Rate::Dsss1]), ..Phy::hr_dsss(Preamble::Long) };
    let config = MacConfig { rts_threshold: 0, is_traced: true, ..MacConfig::standard(phy, Rate::Hr11) };
    let mut cell = Cell::new(MediumConfig::ns2(), links, std::iter::repeat_n(config, 3), 1);
    cell.record();
    cell.run_until(Instant::ZERO + Duration::from_micros(100));
    let accepted = cell.enqueue(0, Outgoing::data(MacAddress::station(1), 1_508, 42));
    debug_assert!(accepted);
    cell.run_until(Instant::from_millis(10));
    let micros = |at: Instant| at.as_nanos() / 1_000;
    let span = |(now, station, event): (Instant, u32, Event)| match event {
        Event::Trace(Step::TransmitStarted { frame }) => Some(Span {
            station,
            frame: Some(frame.kind),
            start: micros(now),
            end: micros(now + frame.air_time),
            reserves: frame.nav.as_micros(),
        }),
        Event::Trace(Step::NavSet { until }) => {
            Some(Span { station, frame: None, start: micros(now), end: micros(until), reserves: 0 })
        }
        _ => None,
    };
    cell.take_log().into_iter().filter_map(span).collect()
}

fn name(kind: Option<FrameKind>) -> &'static str {
    match kind {
        Some(FrameKind::Rts) => "RTS",
        Some(FrameKind::Cts) => "CTS",
        Some(FrameKind::Ack) => "ACK",
        Some(FrameKind::Data) => "DATA",
        Some(FrameKind::Management) => "MGMT",
        Some(FrameKind::Probe) => "PROBE",
        Some(FrameKind::Aggregate) => "A-MPDU",
        Some(FrameKind::BlockAckRequest) => "BAR",
        Some(FrameKind::BlockAck) => "BA",
        Some(FrameKind::CfEnd) => "CF-END",
        None => "NAV",
    }
}

/// A line per station, a column per 25 us; then a line per span with its times.
pub fn draw(spans: &[Span]) -> String {
    const COLUMN: u64 = 25;
    let stations = spans.iter().map(|span| span.station + 1).max().unwrap_or(0);
    let begin = spans.iter().map(|span| span.start).min().unwrap_or(0);
    let mut text = String::new();
    for station in 0..stations {
        let mut line = format!("station {station} ").into_bytes();
        for span in spans.iter().filter(|span| span.station == station) {
            let columns = |micros: u64| ((micros - begin) / COLUMN) as usize;
            let fill = if span.frame.is_some() { b'=' } else { b'.' };
            let (first, last) = (columns(span.start), columns(span.end).max(columns(span.start) + 1));
            line.resize(line.len().max(10 + last), b' ');
            line[10 + first..10 + last].fill(fill);
            let label = name(span.frame).as_bytes();
            let place = 10 + (first + last).saturating_sub(label.len()) / 2;
            if last - first >= label.len() {
                line[place..place + label.len()].copy_from_slice(label);
            }
        }
        text.push_str(String::from_utf8_lossy(&line).trim_end());
        text.push('\n');
    }
    text.push('\n');
    for span in spans {
        let what = name(span.frame);
        let (start, end, time) = (span.start, span.end, span.end - span.start);
        let reserves =
            if span.frame.is_some() { format!(", reserves {}", span.reserves) } else { "".to_string() };
        text.push_str(&format!(
            "{start:>5} to {end:>5} us  station {}  {what:<4} {time:>5} us{reserves}\n",
            span.station
        ));
    }
    text
}

#[cfg(test)]
mod tests;
