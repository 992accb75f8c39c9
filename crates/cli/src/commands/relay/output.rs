//! The lines that relays print.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use whimbrel_relay::{Figures, Notice, Observer, PathState, PathView};
use whimbrel_units::DataRate;

use crate::print::{self, PrintError};
use crate::service;

/// Prints what an end says, as lines or as JSON objects.
pub(super) fn observer(json: bool) -> Observer {
    let lines = Lines { json };
    Arc::new(move |peer, notice| Ok(lines.show(peer, notice)?))
}

#[derive(Debug)]
struct Lines {
    json: bool,
}

impl Lines {
    fn show(&self, peer: Option<SocketAddr>, notice: &Notice<'_>) -> Result<(), PrintError> {
        let ready = |text: &str| self.event("ready", text, peer);
        match *notice {
            Notice::Taking { at, host } => ready(&format!("datagrams at UDP {} go to {host}", list(at))),
            Notice::Listening { at, to, key, local_only } => {
                ready(&format!("listening at UDP {at}; datagrams go to {}", list(to)))?;
                match key {
                    Some(key) => ready(&format!("encrypted; this end's key is {key}")),
                    None if local_only => ready(
                        "not encrypted, and for this host only: --secret-file, --peer-fingerprint or --insecure-plaintext admit others",
                    ),
                    None => ready("not encrypted"),
                }
            }
            Notice::Http(url) => ready(&format!("state at {url}")),
            Notice::Serving => {
                service::ready();
                Ok(())
            }
            Notice::Connected { peer: at, key } => {
                let key =
                    key.map_or("not encrypted".to_owned(), |key| format!("encrypted; its key is {key}"));
                self.event("connected", &format!("connected with {at}, {key}"), peer)
            }
            Notice::Path(text) => self.event("path", text, peer),
            Notice::Repair(text) => self.event("repair", text, peer),
            Notice::Ended(text) => self.event("ended", text, peer),
            Notice::Figures(figures) => self.figures(peer, figures),
            Notice::Warning(text) => {
                print::note(text);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn event(&self, kind: &str, text: &str, peer: Option<SocketAddr>) -> Result<(), PrintError> {
        if self.json {
            return print::line(json!({ "event": kind, "text": text, "peer": peer }));
        }
        match peer.filter(|_| kind != "connected") {
            Some(peer) => print::line(format_args!("{peer}: {text}")),
            None => print::line(text),
        }
    }

    fn figures(&self, peer: Option<SocketAddr>, figures: &Figures) -> Result<(), PrintError> {
        let Figures { time_s, send_rate, receive_rate, rtt_s, delay_s, sums, paths, repair, .. } = figures;
        if self.json {
            return print::line(json!({
                "event": "interval",
                "time_s": time_s,
                "send_rate_bps": send_rate.as_bits_per_second(),
                "receive_rate_bps": receive_rate.as_bits_per_second(),
                "allowed_rate_bps": figures.allowed_rate_bps,
                "rtt_s": rtt_s,
                "delay_s": delay_s,
                "peer": peer,
                "has_reports": figures.has_reports,
                "to_peer": sums.to_peer,
                "from_peer": sums.from_peer,
                "streams": figures.streams,
                "dropped_frames": sums.dropped_frames,
                "forged": sums.forged,
                "lost_wireless": figures.lost_wireless,
                "paths": paths,
                "repair": repair,
            }));
        }
        let allowed = figures
            .allowed_rate_bps
            .map_or(String::new(), |rate| format!(" of {} allowed", DataRate::from_bits_per_second(rate)));
        let milliseconds = |what: &str, time: &Option<f64>| {
            time.map_or(String::new(), |time| format!(", {what} {:.1} ms", time * 1e3))
        };
        let (rtt, delay) = (milliseconds("RTT", rtt_s), milliseconds("delay", delay_s));
        let peer = peer.map_or(String::new(), |peer| format!("{peer} "));
        let paths: String = paths.iter().map(path).collect();
        let repair = repair.map_or(String::new(), |repair| repair.to_string());
        let [sent, received] = [sums.to_peer, sums.from_peer];
        print::line(format_args!(
            "{peer}{time_s:6.1} s  sent {send_rate}{allowed}{rtt}{delay}; {sent}; received {receive_rate}; {received}{repair}{paths}"
        ))
    }
}

fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A path in a report line, by the address that differs.
fn path(path: &PathView) -> String {
    let local = path.local.ip();
    let address = if local.is_unspecified() { path.remote.ip() } else { local };
    match (path.state, path.rtt_s) {
        (PathState::Up, Some(rtt)) => format!("; {address} {:.0} ms", rtt * 1e3),
        (state, _) => format!("; {address} {}", state.name()),
    }
}
