//! The live page: what happens on connections, links and stations over time, in a browser.
//!
//! A running program describes itself in a [`Recording`]: [`Track`]s (a connection, a flow, a link, a
//! station) with series in [`Panel`]s, marks for events, tables, and a sentence that explains what is seen
//! now. A `Feed` shares it with the `server` (a feature), which sends new samples to browsers by server-sent
//! events.
//! [`document()`] makes one file of a recording, which works offline. The same page takes a recording in
//! messages from a page around it ([`live_page`]).
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

#[cfg(feature = "server")]
pub mod accept;
mod document;
#[cfg(feature = "server")]
mod feed;
mod recording;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "simulation")]
pub mod simulation;
#[cfg(feature = "server")]
mod token;

pub use document::{document, live_page};
#[cfg(feature = "server")]
pub use feed::Feed;
pub use recording::{Event, Panel, Position, Recording, SeriesId, Track, TrackId};
#[cfg(feature = "server")]
pub use token::Token;
pub use whimbrel_inspect::explain;
