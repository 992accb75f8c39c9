//! Delivery of events to a mailbox.

use whimbrel_units::Instant;

use crate::dtls::LayerEvent;
use crate::inbox::Inbox;
use crate::kind::Kind;
use crate::mailbox::Mailbox;
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
    /// Delivers an event.
    pub(crate) fn push<C: Kind>(
        &mut self,
        event: LayerEvent<C::Events>,
        mailbox: &Mailbox<C>,
        inbox: &mut Inbox<C>,
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
        self.is_open |= C::is_opening(&event);
        self.is_drained |= event == C::DRAINED;
        if let Some(to) = C::moved(&event) {
            mailbox.set_remote(to);
        }
        inbox.push(event, now, &mut self.wake);
    }
}
