//! Events for the application.

use std::collections::VecDeque;

use whimbrel_wire::SeqNo;

use crate::config::ReceiveConfig;
use crate::multipath::delivery::Arrived;
use crate::multipath::{MultipathEvent, SubflowId};
use crate::{ConnectionError, Event};

/// The most events of single subflows that wait for the application.
const MAX_SUBFLOW_EVENTS: usize = 256;

/// Events for the application, oldest first.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) queue: VecDeque<MultipathEvent>,
    /// Number of datagrams among them, and of their bytes.
    datagrams: usize,
    bytes: usize,
    /// Number of datagrams that found no room.
    pub(super) dropped: u64,
    /// Number of datagrams delivered, and of their bytes.
    pub(super) delivered: u64,
    pub(super) delivered_bytes: u64,
    /// The end was reported.
    pub(super) is_drained: bool,
}

impl Events {
    pub(super) fn push(&mut self, event: MultipathEvent) {
        self.queue.push_back(event);
    }

    pub(super) fn poll(&mut self) -> Option<MultipathEvent> {
        let event = self.queue.pop_front()?;
        if let MultipathEvent::Datagram { payload, .. } = &event {
            self.datagrams -= 1;
            self.bytes -= payload.len();
        }
        Some(event)
    }

    /// Reports a datagram, or returns it if there is no room.
    pub(super) fn on_datagram(
        &mut self,
        limits: &ReceiveConfig,
        sequence: SeqNo,
        arrived: Arrived,
    ) -> Result<(), Arrived> {
        let size = arrived.payload.len();
        if self.datagrams >= limits.max_datagrams || self.bytes + size > limits.max_bytes {
            self.dropped += 1;
            return Err(arrived);
        }
        self.datagrams += 1;
        self.bytes += size;
        self.delivered += 1;
        self.delivered_bytes += size as u64;
        self.push(MultipathEvent::Datagram {
            payload: arrived.payload,
            sequence,
            subflow: arrived.subflow,
            packet: arrived.packet,
            ecn: arrived.ecn,
            repaired: false,
        });
        Ok(())
    }

    /// Reports the latest state of something, so that a peer, or a path that fails and recovers, cannot
    /// accumulate events. `is_older`: tests for events that this one replaces.
    fn push_latest(&mut self, event: MultipathEvent, is_older: impl Fn(&MultipathEvent) -> bool) {
        self.queue.retain(|queued| !is_older(queued));
        self.push(event);
    }

    /// Reports the latest state of a path.
    pub(super) fn on_path(&mut self, event: MultipathEvent) {
        let of = |event: &MultipathEvent| match event {
            MultipathEvent::PathFailed(subflow) | MultipathEvent::PathRecovered(subflow) => Some(*subflow),
            _ => None,
        };
        let subflow = of(&event);
        self.push_latest(event, |queued| of(queued).is_some() && of(queued) == subflow);
    }

    /// Reports the latest state of an address.
    pub(super) fn on_address(&mut self, id: u8, event: MultipathEvent) {
        self.push_latest(event, |queued| match queued {
            MultipathEvent::AddressAdded { address_id, .. }
            | MultipathEvent::AddressRemoved { address_id } => *address_id == id,
            _ => false,
        });
    }

    /// Reports the latest priority of a subflow.
    pub(super) fn on_priority(&mut self, id: SubflowId, event: MultipathEvent) {
        self.push_latest(
            event,
            |queued| matches!(queued, MultipathEvent::PriorityChanged { subflow, .. } if *subflow == id),
        );
    }

    /// Reports an event of a subflow. Of too many that the application does not take, the oldest are dropped.
    pub(super) fn on_subflow(&mut self, subflow: SubflowId, event: Event) {
        let is_older = |queued: &MultipathEvent| {
            matches!(queued, MultipathEvent::Subflow { subflow: of, event: old }
                if *of == subflow && event.supersedes(old))
        };
        self.queue.retain(|queued| !is_older(queued));
        let is_of_subflow = |queued: &MultipathEvent| matches!(queued, MultipathEvent::Subflow { .. });
        if self.queue.len() >= MAX_SUBFLOW_EVENTS
            && self.queue.iter().filter(|queued| is_of_subflow(queued)).count() >= MAX_SUBFLOW_EVENTS
            && let Some(oldest) = self.queue.iter().position(is_of_subflow)
        {
            self.queue.remove(oldest);
        }
        self.push(MultipathEvent::Subflow { subflow, event });
    }

    /// Reports the end of a subflow. One whose beginning the application has not noticed leaves no event, so
    /// that a peer cannot accumulate them.
    pub(super) fn on_subflow_end(&mut self, id: SubflowId, was_known: bool, error: ConnectionError) {
        let before = self.queue.len();
        self.queue.retain(|event| *event != MultipathEvent::SubflowUp(id));
        if was_known && self.queue.len() == before {
            self.push(MultipathEvent::SubflowDown { subflow: id, error });
        }
    }
}
