//! Delivery of events to a mailbox.

use whimbrel_proto::endpoint::Held;
use whimbrel_proto::{ConnectionHandle, Endpoint};
use whimbrel_units::Instant;

use crate::Event;
use crate::dtls::LayerEvent;
use crate::inbox::Inbox;
use crate::kind::Kind;
use crate::mailbox::Mailbox;
use crate::received::Meaning;
use crate::waiters::Wake;

/// The consequences of events delivered to a mailbox.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// The tasks to wake.
    pub(crate) wake: Wake,
    /// The connection is open.
    pub(crate) is_open: bool,
    /// The connection's state is gone.
    pub(crate) is_drained: bool,
}

impl Delivery {
    /// Delivers an event of a connection.
    pub(crate) fn push<C: Kind>(
        &mut self,
        event: LayerEvent<<C as Held>::Event>,
        (endpoint, handle): (&Endpoint<C>, ConnectionHandle),
        (mailbox, inbox): (&Mailbox, &mut Inbox),
        now: Instant,
    ) {
        let event = match event {
            LayerEvent::Event(event) => event,
            LayerEvent::Failed(error) => {
                mailbox.trace.insecure(&error);
                return inbox.unread.set_insecure(error);
            }
            _ => return,
        };
        C::trace(&mailbox.trace, &event);
        self.is_drained |= event == C::DRAINED;
        let meaning = C::meaning(endpoint, handle, event, now);
        match &meaning {
            Meaning::Opened(_) => self.is_open = true,
            Meaning::Other(Event::PeerMoved { to, .. }) => mailbox.set_remote(*to),
            _ => {}
        }
        inbox.push(meaning, &mut self.wake);
    }
}
