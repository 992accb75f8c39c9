//! GStreamer elements that carry RTP, and any other datagrams, over one encrypted DCCP connection.
//!
//! [`Sink`] (`whimbrelsink`) is the end that connects, and [`Source`] (`whimbrelsrc`) the end that listens.
//! Both are relays ([`whimbrel_relay`]) whose program is the pipeline: they speak the protocol of `whimbrel
//! relay`, which may be the other end. Each pad is a port of the connection.
//!
//! An element is a bin. For each pad it has an element of its own (`port`) with the base class of sinks or of
//! sources, which handles clock, preroll, flushes and latency as in any other sink or source. The connection
//! runs in a thread of its own (`connection`).

use gst::glib;

mod connection;
mod encoders;
mod key_frames;
mod pads;
mod settings;
mod sink;
mod source;
mod stats;
mod uri;

pub use sink::Sink;
pub use source::Source;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    sink::register(plugin)?;
    source::register(plugin)
}

gst::plugin_define!(
    whimbrel,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    // The names that GStreamer knows have none for a choice of licences.
    "MIT/X11",
    "whimbrel",
    "whimbrel",
    "https://crates.io/crates/whimbrel-relay"
);
