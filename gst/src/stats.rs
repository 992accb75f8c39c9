//! The property `stats`: what the connection does, as a structure.

use whimbrel_relay::{Account, Figures};

/// Statistics of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// The address at which this end listens.
    pub(crate) listening: Option<String>,
    /// The other end, while there is a connection.
    pub(crate) peer: Option<String>,
    /// Connections so far.
    pub(crate) connections: u64,
    /// The reason why the last one ended, or could not be opened.
    pub(crate) last_error: Option<String>,
    /// The newest figures.
    pub(crate) figures: Option<Figures>,
}

impl Measured {
    /// `true` if nothing that was sent is still on its way.
    pub(crate) fn is_drained(&self) -> bool {
        self.peer.is_none() || self.figures.as_ref().is_none_or(|it| it.sums.to_peer.under_way() == 0)
    }

    pub(crate) fn structure(&self) -> gst::Structure {
        let mut stats = gst::Structure::builder("application/x-whimbrel-stats")
            .field("connected", self.peer.is_some())
            .field("connections", self.connections)
            .field_if_some("listening", self.listening.clone())
            .field_if_some("peer", self.peer.clone())
            .field_if_some("last-error", self.last_error.clone());
        if let Some(figures) = &self.figures {
            let seconds = |time: f64| (time * 1e9) as u64;
            stats = stats
                .field("send-rate-bps", figures.send_rate.as_bits_per_second())
                .field("receive-rate-bps", figures.receive_rate.as_bits_per_second())
                .field_if_some("allowed-rate-bps", figures.allowed_rate_bps)
                .field_if_some("round-trip-time", figures.rtt_s.map(seconds))
                .field_if_some("delay", figures.delay_s.map(seconds))
                .field("bytes-sent", figures.sums.bytes_sent)
                .field("bytes-received", figures.sums.bytes_received)
                .field("dropped-frames", figures.sums.dropped_frames)
                .field("sent", account(&figures.sums.to_peer))
                .field("received", account(&figures.sums.from_peer));
            if let Some(repair) = &figures.repair {
                stats = stats.field("repair-overhead", repair.overhead());
            }
            let paths = figures.paths.iter().map(|path| {
                let path = gst::Structure::builder("path")
                    .field("local", path.local.to_string())
                    .field("remote", path.remote.to_string())
                    .field("state", path.state.name())
                    .field_if_some("allowed-rate-bps", path.allowed_rate_bps)
                    .field_if_some("round-trip-time", path.rtt_s.map(seconds))
                    .field("bytes-sent", path.bytes_sent)
                    .field("bytes-received", path.bytes_received);
                path.build()
            });
            stats = stats.field("paths", gst::Array::new(paths));
        }
        stats.build()
    }
}

/// The datagrams of a direction: `sent` is at any time the sum of `delivered`, the losses by reason, and
/// `under-way`.
fn account(account: &Account) -> gst::Structure {
    let mut fields = gst::Structure::builder("datagrams")
        .field("sent", account.sent)
        .field("delivered", account.delivered)
        .field("under-way", account.under_way());
    for (reason, count) in account.lost.all() {
        fields = fields.field(format!("lost-{}", reason.name().replace('_', "-")), count);
    }
    fields.build()
}
