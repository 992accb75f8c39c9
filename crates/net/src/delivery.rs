//! Delivery of events to a mailbox.

use whimbrel_proto::Event;
use whimbrel_units::Instant;

use crate::dtls::LayerEvent;
use crate::inbox::Inbox;
use crate::mailbox::Mailbox;
use crate::waiters::Wake;

/// The consequences of events delivered to a mailbox.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// The tasks to wake.
    pub(crate) wake: Wake,
    /// The connection is established.
    pub(crate) is_connected: bool,
    /// The connection's state is gone.
    pub(crate) is_drained: bool,
}

impl Delivery {
    /// Delivers an event.
    pub(crate) fn push(&mut self, event: LayerEvent, mailbox: &Mailbox, inbox: &mut Inbox, now: Instant) {
        let event = match event {
            LayerEvent::Event(event) => event,
            LayerEvent::Failed(error) => {
                mailbox.trace.insecure(&error);
                return inbox.unread.set_insecure(error);
            }
            _ => return,
        };
        mailbox.trace.event(&event);
        self.is_connected |= matches!(event, Event::Connected { .. });
        self.is_drained |= event == Event::Drained;
        if let Event::PeerMoved { to, .. } = event {
            mailbox.set_remote(to);
        }
        inbox.push(event, now, &mut self.wake);
    }
}
