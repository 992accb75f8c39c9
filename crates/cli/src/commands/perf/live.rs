//! The live page of a test: its intervals.

use std::net::SocketAddr;
use std::sync::Mutex;

use whimbrel_live::explain::{Cause, Explainer, Interval};
use whimbrel_live::{Feed, Panel, Recording, SeriesId, TrackId, server};
use whimbrel_measure::perf::{Row, Span};

use crate::print;

/// A page that is served.
pub(super) struct Page {
    feed: Feed,
    directions: Mutex<Vec<Direction>>,
}

struct Direction {
    name: &'static str,
    track: TrackId,
    explainer: Explainer,
}

impl Page {
    /// Serves the page from now on.
    pub(super) async fn open(at: SocketAddr, title: String) -> anyhow::Result<Self> {
        let feed = Feed::new(Recording::new(title));
        print::live_page(&server::serve(at, feed.clone(), feed.clone(), None).await?);
        Ok(Self { feed, directions: Mutex::default() })
    }

    /// Called at the end of each interval.
    pub(super) fn interval(&self, row: &Row) {
        let mut directions = self.directions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.feed.update(|recording| {
            let mut values = Vec::new();
            for (name, span) in row.spans() {
                let known = directions.iter().position(|direction| direction.name == name);
                let place = known.unwrap_or_else(|| {
                    let track = recording.track("direction", name);
                    directions.push(Direction { name, track, explainer: Explainer::default() });
                    directions.len() - 1
                });
                directions[place].take(recording, &mut values, row, &span);
            }
            recording.push(row.end_s, &values);
        });
    }
}

impl Direction {
    fn take(&mut self, recording: &mut Recording, values: &mut Vec<(SeriesId, f64)>, row: &Row, span: &Span) {
        let length = (row.end_s - row.start_s).max(1e-9);
        let Span { received, sent, .. } = span;
        let repaired = (received.repeated + received.restored) as f64;
        let mut lost = [0.0; Cause::ALL.len()];
        // The path's losses include the repaired datagrams.
        lost[Cause::Path as usize] = span.lost as f64 + repaired;
        lost[Cause::Late as usize] = received.datagrams_too_late as f64;
        lost[Cause::Choice as usize] = (sent.dropped + sent.expired) as f64;
        let mut add = |panel, name: &str, value: Option<f64>| {
            if let Some(value) = value {
                values.push((recording.series(self.track, panel, name), value));
            }
        };
        add(Panel::Rate, "sent", Some(span.send_rate_bps));
        add(Panel::Rate, "delivered", Some(span.goodput_bps));
        add(Panel::Rate, "allowed", sent.allowed_rate_bps);
        for cause in [Cause::Path, Cause::Late, Cause::Choice] {
            add(Panel::Loss, cause.name(), Some(lost[cause as usize] / length));
        }
        add(Panel::Loss, "repaired", Some(repaired / length));
        add(Panel::Delay, "round trip", sent.rtt_s);
        let sentence = self.explainer.push(&Interval {
            at_s: row.end_s,
            length_s: length,
            offered: Some((sent.datagrams + sent.dropped + sent.expired) as f64),
            delivered: received.datagrams as f64,
            lost,
            repaired,
            overhead: (sent.bytes > 0).then(|| sent.repair_bytes as f64 / sent.bytes as f64),
            delivered_bps: Some(span.goodput_bps),
            allowed_bps: sent.allowed_rate_bps,
            ..Interval::default()
        });
        recording.say(row.end_s, self.track, &sentence);
    }
}
