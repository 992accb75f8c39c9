//! The layers of one connection.

use std::collections::VecDeque;

use whimbrel_proto::layer::Transport;
use whimbrel_proto::repair::{Below, RepairLayer};
use whimbrel_proto::{Datagram, DatagramId, SendError};
use whimbrel_units::Instant;

use super::Above;
use crate::dtls::{Layer, LayerEvent};

/// Repair above security above the connection; at least one of the two layers is there.
#[derive(Debug)]
pub(super) struct Stack<C: Transport> {
    pub(super) security: Option<Layer<C>>,
    pub(super) repair: Option<RepairLayer<C>>,
    /// Events for the application.
    pub(super) events: VecDeque<LayerEvent<C::Event>>,
    /// Repair has used the connection.
    has_acted: bool,
}

/// Layers below repair.
struct Lower<'a, C: Transport> {
    security: &'a mut Option<Layer<C>>,
    connection: &'a mut C,
}

impl<C: Transport> Below<C> for Lower<'_, C> {
    fn connection(&mut self) -> &mut C {
        self.connection
    }

    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        match self.security {
            Some(security) => security.send(now, self.connection, datagram),
            None => self.connection.send(now, datagram),
        }
    }

    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        match self.security {
            Some(security) => security.make_room(now, self.connection, size),
            None => self.connection.make_room(now, size),
        }
    }

    fn max_datagram(&mut self) -> usize {
        let max_datagram = self.connection.max_datagram();
        if self.security.is_some() { crate::dtls::room(max_datagram) } else { max_datagram }
    }
}

impl<C: Transport> Stack<C> {
    /// The layers; `None` if there is none.
    pub(super) fn new(Above { security, repair }: Above) -> Option<Self> {
        if security.is_none() && repair.is_none() {
            return None;
        }
        Some(Self {
            security: security.map(Layer::new),
            repair: repair.map(RepairLayer::new),
            events: VecDeque::new(),
            has_acted: false,
        })
    }

    /// `true` if a layer has used the connection since the last call.
    pub(super) fn take_acted(&mut self) -> bool {
        let acted = self.security.as_mut().is_some_and(Layer::take_acted);
        std::mem::take(&mut self.has_acted) || acted
    }

    pub(super) fn send(
        &mut self,
        now: Instant,
        connection: &mut C,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        let Self { security, repair, .. } = self;
        let mut lower = Lower { security, connection };
        let sent = match repair {
            Some(repair) => repair.send(now, &mut lower, datagram),
            None => lower.send(now, datagram),
        };
        self.settle(now, connection);
        sent
    }

    pub(super) fn make_room(
        &mut self,
        now: Instant,
        connection: &mut C,
        size: usize,
    ) -> Result<(), SendError> {
        let Self { security, repair, .. } = self;
        let mut lower = Lower { security, connection };
        match repair {
            Some(repair) => repair.make_room(now, &mut lower, size),
            None => lower.make_room(now, size),
        }
    }

    pub(super) fn handle_event(&mut self, now: Instant, connection: &mut C, event: C::Event) {
        match &mut self.security {
            Some(security) => security.handle_event(now, connection, event),
            None => self.rise(now, connection, event),
        }
        self.settle(now, connection);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, connection: &mut C) {
        if let Some(security) = &mut self.security {
            security.handle_timeout(now, connection);
        }
        let Self { security, repair, .. } = self;
        if let Some(repair) = repair {
            repair.handle_timeout(now, &mut Lower { security, connection });
        }
        self.settle(now, connection);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let security = self.security.as_ref().and_then(Layer::poll_timeout);
        let repair = self.repair.as_ref().and_then(RepairLayer::poll_timeout);
        [security, repair].into_iter().flatten().min()
    }

    pub(super) fn evict(&mut self, now: Instant, connection: &mut C) {
        if let Some(security) = &mut self.security {
            security.evict(now, connection);
        }
        self.settle(now, connection);
    }

    pub(super) fn close(&mut self, now: Instant, connection: &mut C) {
        let Self { security, repair, .. } = self;
        if let Some(repair) = repair {
            repair.close(now, &mut Lower { security, connection });
        }
        if let Some(security) = &mut self.security {
            security.close(now, connection);
        }
    }

    /// Passes the events of the security layer on.
    fn settle(&mut self, now: Instant, connection: &mut C) {
        while let Some(event) = self.security.as_mut().and_then(Layer::poll_event) {
            match event {
                LayerEvent::Event(event) => self.rise(now, connection, event),
                failed => self.events.push_back(failed),
            }
        }
        if let Some(repair) = &mut self.repair {
            self.has_acted = true;
            self.events.extend(std::iter::from_fn(|| repair.poll_event()).map(LayerEvent::Event));
        }
    }

    /// An event passes from below repair to the application.
    fn rise(&mut self, now: Instant, connection: &mut C, event: C::Event) {
        let Self { security, repair, events, .. } = self;
        match repair {
            Some(repair) => repair.handle_event(now, &mut Lower { security, connection }, event),
            None => events.push_back(LayerEvent::Event(event)),
        }
    }
}
