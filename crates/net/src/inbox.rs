//! Received data and events of one socket that wait for its application.

use crate::Event;
use crate::received::Meaning;
use crate::unread::Unread;
use crate::waiters::Wake;

/// The receive side of one socket.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) unread: Unread,
    /// The connection is open.
    pub(crate) is_open: bool,
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self { unread: Unread::new(limit), is_open: false }
    }

    /// Stores what an event means; adds the waiters concerned to `wake`.
    pub(crate) fn push(&mut self, meaning: Meaning, wake: &mut Wake) {
        let event = match meaning {
            Meaning::Nothing => return,
            Meaning::Datagram(datagram) => {
                wake.readable = true;
                return self.unread.push(datagram);
            }
            Meaning::Room => {
                wake.writable = true;
                return;
            }
            Meaning::Opened(event) => {
                self.is_open = true;
                event
            }
            Meaning::Closed(why) => {
                self.unread.close(why);
                *wake = Wake::ALL;
                Event::Closed(why)
            }
            Meaning::Other(event) => event,
        };
        wake.happened = true;
        self.unread.push_event(event);
    }
}

#[cfg(test)]
mod tests;
