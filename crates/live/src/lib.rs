//! The live page: what happens on connections, links and stations over time, in a browser.
//!
//! Whatever runs describes itself in a [`Recording`]: [`Track`]s (a connection, a flow, a link, a station)
//! with series in [`Panel`]s, marks for events, tables, and a sentence that explains what is seen now. A
//! [`Feed`] shares it with the [`server`], which sends new samples to browsers by server-sent events.
//! [`document()`] makes one file of a recording, which works offline. The page is the same.
//!
//! ```
//! use whimbrel_live::{Panel, Recording, document};
//!
//! let mut recording = Recording::new("a camera");
//! let track = recording.track("connection", "viewer.example");
//! let sent = recording.series(track, Panel::Rate, "sent");
//! recording.push(0.5, &[(sent, 1.2e6)]);
//! recording.say(0.5, track, "everything arrives; 1.20 Mbit/s delivered");
//! assert!(document(&recording).contains("everything arrives"));
//! ```

pub mod accept;
mod document;
mod feed;
mod recording;
pub mod server;
mod token;

pub use document::document;
pub use feed::Feed;
pub use recording::{Panel, Recording, SeriesId, Track, TrackId};
pub use token::Token;
pub use whimbrel_inspect::explain;
