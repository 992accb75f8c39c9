//! Events of connections as kinds and fields.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use whimbrel_net::Event;
use whimbrel_net::multipath::MultipathEvent;

use super::parts;

/// The kind of an event; its fields go to `fields`.
pub(super) fn describe(event: &Event, fields: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    Ok(match event {
        Event::Connected { sender_ccid, receiver_ccid } => {
            fields.set_item("sender_ccid", sender_ccid.0)?;
            fields.set_item("receiver_ccid", receiver_ccid.0)?;
            "connected"
        }
        Event::DatagramDropped { id, reason } => {
            fields.set_item("datagram", id.0)?;
            fields.set_item("reason", snake_case(&format!("{reason:?}")))?;
            "dropped"
        }
        Event::DataDropped { sequence, code } => {
            fields.set_item("sequence", sequence.value())?;
            fields.set_item("reason", snake_case(&format!("{code:?}")))?;
            "data_dropped"
        }
        Event::LossClassified(verdict) => {
            fields.set_item("sequence", verdict.first.value())?;
            fields.set_item("count", verdict.count)?;
            fields.set_item("cause", verdict.cause.name())?;
            "loss"
        }
        Event::SlowReceiver => "slow_receiver",
        Event::SendReady => "send_ready",
        Event::Frozen { by_peer } => {
            fields.set_item("by_peer", by_peer)?;
            "frozen"
        }
        Event::Unfrozen { by } => {
            fields.set_item("by", snake_case(&format!("{by:?}")))?;
            "unfrozen"
        }
        Event::FeatureChanged { feature, local, value } => {
            fields.set_item("feature", feature)?;
            fields.set_item("local", local)?;
            fields.set_item("value", value)?;
            "feature"
        }
        Event::ErrorText { text } => {
            fields.set_item("text", text)?;
            "error_text"
        }
        Event::MaxDatagramChanged { max_datagram } => {
            fields.set_item("max_datagram", max_datagram)?;
            "max_datagram"
        }
        Event::PeerMoved { to, .. } => {
            fields.set_item("to", parts(*to))?;
            "peer_moved"
        }
        Event::MoveConfirmed => "move_confirmed",
        Event::NewStartNeeded { stream } => {
            fields.set_item("stream", stream)?;
            "new_start_needed"
        }
        Event::Paths(event) => describe_path(event, fields)?,
        Event::Closed(why) => {
            fields.set_item("reason", why.to_string())?;
            "closed"
        }
        event => {
            fields.set_item("text", format!("{event:?}"))?;
            "other"
        }
    })
}

/// The kind of an event of one of several paths.
fn describe_path(event: &MultipathEvent, fields: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    let (path, kind) = match event {
        MultipathEvent::SubflowUp(path) => (path, "path_up"),
        MultipathEvent::SubflowDown { subflow, error } => {
            fields.set_item("reason", error.to_string())?;
            (subflow, "path_down")
        }
        MultipathEvent::PathFailed(path) => (path, "path_failed"),
        MultipathEvent::PathRecovered(path) => (path, "path_recovered"),
        MultipathEvent::Subflow { subflow, event } => (subflow, describe(event, fields)?),
        event => {
            fields.set_item("text", format!("{event:?}"))?;
            return Ok("other");
        }
    };
    fields.set_item("path", path.0)?;
    Ok(kind)
}

/// `PeerNotListening` as `peer_not_listening`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
