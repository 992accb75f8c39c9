//! The sender's reaction to its link: freezes, moves, and unfreezes the connection.

use std::net::SocketAddr;

use anyhow::Context;
use tokio::sync::broadcast;
use whimbrel_net::{Event, FreezeScope, LinkEvent, LinkMonitor, PathChange, Socket};

use crate::Near;
use crate::edge::address::zone_of;

/// A change of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// As the system reports it.
    Link(LinkEvent),
    /// As a program announces it.
    Outage(Outage),
    /// The other end sends to the new address.
    Confirmed,
    /// A frame of that stream is lost that others refer to.
    NewStart(u64),
}

/// A program's early knowledge of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outage {
    /// The link will be lost.
    Announced,
    /// The link is back, or was not lost.
    Over,
}

/// Announcements of outages, for all connections of this process that subscribe to them.
pub type Outages = broadcast::Sender<Outage>;

/// The next announcement. Cancel safe.
pub async fn next_outage(outages: &mut broadcast::Receiver<Outage>) -> Outage {
    loop {
        match outages.recv().await {
            Ok(outage) => return outage,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Follows the link of a connection.
#[derive(Debug)]
pub(crate) struct Follow {
    monitor: Option<LinkMonitor>,
    outages: broadcast::Receiver<Outage>,
    freezes: bool,
    /// Lost datagrams are repaired.
    repairs: bool,
    /// The data that is frozen.
    frozen: Option<FreezeScope>,
    /// The other end does not send to the new address yet.
    is_moving: bool,
    /// The link is back.
    is_back: bool,
}

impl Follow {
    /// Follows the link to `remote`; if the end neither freezes nor moves, announcements only.
    ///
    /// # Errors
    /// The link cannot be followed.
    pub(super) fn start(remote: SocketAddr, near: &Near) -> anyhow::Result<Self> {
        let freezes = near.freezes;
        let (outages, repairs) = (near.outages.subscribe(), near.options.latency.is_some());
        let monitor = match freezes || near.follows {
            true => {
                let monitor = LinkMonitor::open(remote.ip(), zone_of(remote).as_deref());
                Some(monitor.context("following the link")?)
            }
            false => None,
        };
        Ok(Self { monitor, outages, freezes, repairs, frozen: None, is_moving: false, is_back: false })
    }

    /// `true` if [`Self::next`] takes the events of the connection: those that confirm a move, and those
    /// about frames.
    pub(super) fn takes_events(&self) -> bool {
        self.is_moving || self.repairs
    }

    /// The next change. Cancel safe.
    ///
    /// # Errors
    /// The link cannot be followed any more.
    pub(super) async fn next(&mut self, socket: &Socket) -> anyhow::Result<Change> {
        let listens = self.takes_events();
        let happened = async {
            if listens {
                loop {
                    match socket.event().await {
                        Ok(Event::MoveConfirmed) => return Change::Confirmed,
                        Ok(Event::NewStartNeeded { stream }) => return Change::NewStart(stream),
                        Ok(_) => {}
                        // The end of the connection is reported elsewhere.
                        Err(_) => break,
                    }
                }
            }
            std::future::pending().await
        };
        let event = async {
            match &mut self.monitor {
                Some(monitor) => monitor.next().await.context("following the link"),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = event => Ok(Change::Link(event?)),
            change = happened => Ok(change),
            outage = next_outage(&mut self.outages) => Ok(Change::Outage(outage)),
        }
    }

    /// Applies a change to the connection.
    pub(super) async fn apply(&mut self, change: Change, socket: &Socket) {
        match change {
            Change::Outage(Outage::Announced) => self.freeze(FreezeScope::Both, socket),
            // There is no path by which the other end could be notified.
            Change::Link(LinkEvent::Down) => {
                self.is_back = false;
                if self.freezes {
                    self.freeze(FreezeScope::Local, socket);
                }
            }
            Change::Link(LinkEvent::AddressChanged) => self.is_moving = change_address(socket).await,
            // A change of address comes with one of the route.
            Change::Link(LinkEvent::RouteChanged) if !self.is_moving => socket.path_changed(PathChange::Keep),
            Change::Link(LinkEvent::Up) => {
                self.is_back = true;
                // Until the other end has followed, all that it sends goes to the old address.
                if !self.is_moving || self.frozen == Some(FreezeScope::Local) {
                    self.unfreeze(socket);
                }
            }
            Change::Confirmed => {
                self.is_moving = false;
                if self.is_back {
                    self.unfreeze(socket);
                }
            }
            Change::Outage(Outage::Over) => self.unfreeze(socket),
            Change::Link(_) | Change::NewStart(_) => {}
        }
    }

    fn freeze(&mut self, scope: FreezeScope, socket: &Socket) {
        if self.frozen.is_none() {
            self.frozen = Some(scope);
            socket.freeze(scope);
        }
    }

    fn unfreeze(&mut self, socket: &Socket) {
        if let Some(scope) = self.frozen.take() {
            socket.unfreeze(scope);
        }
    }
}

/// Moves to the address that the system gives now. If it cannot be used yet, the connection detects the
/// change by itself, and `false` is returned.
async fn change_address(socket: &Socket) -> bool {
    let has_moved = socket.rebind(None, PathChange::Keep).await.is_ok();
    if !has_moved {
        socket.path_changed(PathChange::Keep);
    }
    has_moved
}
