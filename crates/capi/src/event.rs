//! Events.

use std::ffi::{c_char, c_int};

use whimbrel_net::multipath::MultipathEvent;
use whimbrel_net::{DropReason, Event, UnfreezeCause};

use crate::failure::WHIMBREL_AGAIN;
use crate::socket::{borrowed, whimbrel_socket};
use crate::{failure, pointers};

/// The handshake is complete. `value` is the CCID of the data that this end sends, `detail` the CCID of the
/// other direction.
pub const WHIMBREL_EVENT_CONNECTED: c_int = 1;
/// The queued datagram with the number `value` (whimbrel_send) will not be sent. `detail`: 1 its lifetime has
/// passed, 2 the queue was full, 3 the connection has ended, 4 it is too large for the path, 5 the peer's
/// application does not listen, 0 another reason.
pub const WHIMBREL_EVENT_DROPPED: c_int = 2;
/// The data of a packet arrived and did not reach the peer's application. `value`: its sequence number.
pub const WHIMBREL_EVENT_DATA_DROPPED: c_int = 3;
/// The send queue has room after it has refused a datagram.
pub const WHIMBREL_EVENT_SEND_READY: c_int = 4;
/// The peer cannot keep up: reduce the rate.
pub const WHIMBREL_EVENT_SLOW_RECEIVER: c_int = 5;
/// This end has stopped sending data for a handover; `detail` is 1 if the peer has asked for it.
pub const WHIMBREL_EVENT_FROZEN: c_int = 6;
/// This end sends data again. `detail`: 1 this end's application, 2 the peer, 3 a packet of the peer, 4 the
/// time limit.
pub const WHIMBREL_EVENT_UNFROZEN: c_int = 7;
/// The largest datagram of the path is now `value` bytes.
pub const WHIMBREL_EVENT_MAX_DATAGRAM: c_int = 8;
/// The client of this server has another address now: `text` has it.
pub const WHIMBREL_EVENT_PEER_MOVED: c_int = 9;
/// The server sends to the new address of this client.
pub const WHIMBREL_EVENT_MOVE_CONFIRMED: c_int = 10;
/// Packets were lost and classified. `value` is their number, `detail` is 1 if they count as congestion.
pub const WHIMBREL_EVENT_LOSS: c_int = 11;
/// The connection has ended; `text` has the reason. Reading returns it as a code.
pub const WHIMBREL_EVENT_CLOSED: c_int = 12;
/// Another event; `text` describes it.
pub const WHIMBREL_EVENT_OTHER: c_int = 13;
/// A further path is in use; `value` is its number.
pub const WHIMBREL_EVENT_PATH_UP: c_int = 14;
/// A path has ended; `value` is its number, `text` has the reason. The connection goes on.
pub const WHIMBREL_EVENT_PATH_DOWN: c_int = 15;
/// A path does not answer: no data takes it while another one does. `value` is its number.
pub const WHIMBREL_EVENT_PATH_FAILED: c_int = 16;
/// A path answers again; `value` is its number.
pub const WHIMBREL_EVENT_PATH_RECOVERED: c_int = 17;
/// Repair has given up a frame of this end to which others refer (whimbrel_send_part): the encoder should
/// make a key frame. `value` is the stream. Repeated if more is missing before that frame, after a
/// round-trip time and 100 ms at the earliest.
pub const WHIMBREL_EVENT_NEW_START_NEEDED: c_int = 18;

/// Room for the text of an event, with the zero behind it.
pub const WHIMBREL_EVENT_TEXT: usize = 256;

/// An event.
#[repr(C)]
pub struct whimbrel_event {
    /// A WHIMBREL_EVENT_ constant, which says what the other fields are; they are 0 otherwise.
    pub kind: c_int,
    /// A detail.
    pub detail: c_int,
    /// A number.
    pub value: u64,
    /// A description in English.
    pub text: [c_char; WHIMBREL_EVENT_TEXT],
}

/// Reads an event. Returns 0, or WHIMBREL_AGAIN if there is none.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_next_event(
    socket: *const whimbrel_socket,
    event: *mut whimbrel_event,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let (socket, out) = unsafe { (borrowed(socket)?, pointers::object_mut(event, "event")?) };
        match socket.try_event()? {
            Some(event) => *out = converted(&event),
            None => return Ok(WHIMBREL_AGAIN),
        }
        Ok(0)
    })
}

fn converted(event: &Event) -> whimbrel_event {
    if let Event::Paths(paths) = event
        && let MultipathEvent::Subflow { event, .. } = &**paths
    {
        return converted(event);
    }
    let (kind, detail, value) = match event {
        Event::Connected { sender_ccid, receiver_ccid } => {
            (WHIMBREL_EVENT_CONNECTED, receiver_ccid.0.into(), sender_ccid.0.into())
        }
        Event::DatagramDropped { id, reason } => (WHIMBREL_EVENT_DROPPED, dropped(*reason), id.0),
        Event::DataDropped { sequence, .. } => (WHIMBREL_EVENT_DATA_DROPPED, 0, sequence.value()),
        Event::SendReady => (WHIMBREL_EVENT_SEND_READY, 0, 0),
        Event::SlowReceiver => (WHIMBREL_EVENT_SLOW_RECEIVER, 0, 0),
        Event::Frozen { by_peer } => (WHIMBREL_EVENT_FROZEN, (*by_peer).into(), 0),
        Event::Unfrozen { by } => (WHIMBREL_EVENT_UNFROZEN, cause(*by), 0),
        Event::MaxDatagramChanged { max_datagram } => (WHIMBREL_EVENT_MAX_DATAGRAM, 0, *max_datagram as u64),
        Event::PeerMoved { .. } => (WHIMBREL_EVENT_PEER_MOVED, 0, 0),
        Event::MoveConfirmed => (WHIMBREL_EVENT_MOVE_CONFIRMED, 0, 0),
        Event::LossClassified(verdict) => {
            let is_congestion = verdict.cause == whimbrel_net::LossClass::Congestion;
            (WHIMBREL_EVENT_LOSS, is_congestion.into(), verdict.count)
        }
        Event::NewStartNeeded { stream } => (WHIMBREL_EVENT_NEW_START_NEEDED, 0, *stream),
        Event::Closed(_) => (WHIMBREL_EVENT_CLOSED, 0, 0),
        Event::Paths(event) => match &**event {
            MultipathEvent::SubflowUp(path) => (WHIMBREL_EVENT_PATH_UP, 0, path.0.into()),
            MultipathEvent::SubflowDown { subflow, .. } => (WHIMBREL_EVENT_PATH_DOWN, 0, subflow.0.into()),
            MultipathEvent::PathFailed(path) => (WHIMBREL_EVENT_PATH_FAILED, 0, path.0.into()),
            MultipathEvent::PathRecovered(path) => (WHIMBREL_EVENT_PATH_RECOVERED, 0, path.0.into()),
            _ => (WHIMBREL_EVENT_OTHER, 0, 0),
        },
        _ => (WHIMBREL_EVENT_OTHER, 0, 0),
    };
    let description = match event {
        Event::Closed(why) => why.to_string(),
        Event::PeerMoved { to, .. } => to.to_string(),
        Event::ErrorText { text } => text.clone(),
        Event::Paths(event) => match &**event {
            MultipathEvent::SubflowDown { error, .. } => error.to_string(),
            event => format!("{event:?}"),
        },
        event => format!("{event:?}"),
    };
    let mut text = [0; WHIMBREL_EVENT_TEXT];
    // The last zero stays; a character that was cut in two is left out.
    let mut end = description.len().min(WHIMBREL_EVENT_TEXT - 1);
    end -= (0..end).find(|back| description.is_char_boundary(end - back)).unwrap_or(end);
    for (to, from) in text.iter_mut().zip(description[..end].bytes()) {
        *to = from as c_char;
    }
    whimbrel_event { kind, detail, value, text }
}

fn dropped(reason: DropReason) -> c_int {
    match reason {
        DropReason::Expired => 1,
        DropReason::QueueFull => 2,
        DropReason::ConnectionEnded => 3,
        DropReason::TooLarge => 4,
        DropReason::PeerNotListening => 5,
        _ => 0,
    }
}

fn cause(by: UnfreezeCause) -> c_int {
    match by {
        UnfreezeCause::Local => 1,
        UnfreezeCause::Peer => 2,
        UnfreezeCause::PeerSpoke => 3,
        UnfreezeCause::Limit => 4,
        _ => 0,
    }
}
