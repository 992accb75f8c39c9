//! The live page of a recording: what this end sends and receives.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use whimbrel_live::explain::{Cause, Explainer, Interval};
use whimbrel_live::{Feed, Panel, Recording, TrackId, server};
use whimbrel_measure::record::{Figures, Progress};

use crate::print;

/// Least time between two samples, in seconds.
const INTERVAL: f64 = 0.5;

/// A page that is served.
pub(super) struct Page {
    feed: Feed,
    track: TrackId,
    last: Mutex<Last>,
}

/// The last sample.
#[derive(Default)]
struct Last {
    at: f64,
    figures: Figures,
    explainer: Explainer,
}

impl Page {
    /// Serves the page from now on.
    pub(super) async fn open(at: SocketAddr, title: String) -> anyhow::Result<Self> {
        let mut recording = Recording::new(title);
        let track = recording.track("path", "to the server and back");
        let feed = Feed::new(recording);
        print::live_page(&server::serve(at, feed.clone(), feed.clone(), None).await?);
        Ok(Self { feed, track, last: Mutex::default() })
    }

    /// Called several times a second.
    pub(super) fn update(&self, progress: &Progress) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = progress.passed.as_secs_f64();
        let length = now - last.at;
        if length < INTERVAL {
            return;
        }
        last.at = now;
        let figures = progress.figures;
        let old = std::mem::replace(&mut last.figures, figures);
        let since = |now: u64, before: u64| now.saturating_sub(before) as f64;
        let [sent, received] =
            [(figures.sent_bytes, old.sent_bytes), (figures.received_bytes, old.received_bytes)]
                .map(|(now, before)| since(now, before) * 8.0 / length);
        // Overtaken probes are no longer missing once they arrive.
        let lost = since(figures.missing, old.missing);
        let seconds =
            |time: Option<whimbrel_units::Duration>| time.map(whimbrel_units::Duration::as_secs_f64);
        let values = [
            (Panel::Rate, "sent", Some(sent)),
            (Panel::Rate, "received", Some(received)),
            (Panel::Loss, "path", Some(lost / length)),
            (Panel::Delay, "round trip", seconds(figures.rtt)),
            (Panel::Delay, "queueing delay", seconds(figures.queueing)),
        ];
        let mut causes = [0.0; Cause::ALL.len()];
        causes[Cause::Path as usize] = lost;
        let sentence = last.explainer.push(&Interval {
            at_s: now,
            length_s: length,
            delivered: since(figures.received, old.received),
            lost: causes,
            delivered_bps: Some(received),
            ..Interval::default()
        });
        self.feed.update(|recording| {
            let mut row = Vec::new();
            for (panel, name, value) in values {
                row.extend(value.map(|value| (recording.series(self.track, panel, name), value)));
            }
            recording.push(now, &row);
            recording.say(now, self.track, &sentence);
        });
    }
}
