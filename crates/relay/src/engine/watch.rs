//! Changes below a connection, and the reaction of its end.

use whimbrel_net::Event;
use whimbrel_net::multipath::MultipathEvent;

use crate::follow::{Change, Follow};
use crate::link::Link;
use crate::paths::{self, PathChange, Paths};

/// The changes below a connection that its end follows.
#[derive(Debug)]
pub(crate) enum Watch {
    /// The route of a connection over one path.
    Link(Box<Follow>),
    /// The interfaces of a connection over several paths.
    Paths(Box<Paths>),
    /// The events of the connection alone: over one path those about frames, if it `repairs`.
    Events { repairs: bool },
}

/// A change below a connection.
pub(crate) enum Below {
    Link(Change),
    Paths(PathChange),
    Event(MultipathEvent),
    /// A frame of that stream is lost that others refer to, on a connection over one path.
    NewStart(u64),
}

impl Below {
    /// The stream of which a frame is lost that others refer to.
    pub(super) fn new_start(&self) -> Option<u64> {
        match self {
            Self::NewStart(stream)
            | Self::Link(Change::NewStart(stream))
            | Self::Event(MultipathEvent::NewStartNeeded { stream })
            | Self::Paths(PathChange::Event(MultipathEvent::NewStartNeeded { stream })) => Some(*stream),
            _ => None,
        }
    }
}

impl Watch {
    /// The next change. Cancel safe.
    ///
    /// The futures of the ends that move are large, and are not part of this one: a server has one for each
    /// connection.
    ///
    /// # Errors
    /// The link or the interfaces cannot be followed any more.
    pub(crate) async fn next(&mut self, link: &Link) -> anyhow::Result<Below> {
        let socket = &link.socket;
        match self {
            Self::Link(follow) => Box::pin(follow.next(socket)).await.map(Below::Link),
            Self::Paths(paths) => Box::pin(paths.next(socket)).await.map(Below::Paths),
            Self::Events { .. } if link.scheduler.is_some() => {
                Ok(Below::Event(Box::pin(paths::event(socket)).await))
            }
            Self::Events { repairs: true } => {
                loop {
                    match Box::pin(socket.event()).await {
                        Ok(Event::NewStartNeeded { stream }) => return Ok(Below::NewStart(stream)),
                        Ok(_) => {}
                        // The end of the connection is reported elsewhere.
                        Err(_) => return std::future::pending().await,
                    }
                }
            }
            Self::Events { repairs: false } => std::future::pending().await,
        }
    }

    /// `true` if [`Self::next`] takes the events of the connection.
    fn takes_events(&self, link: &Link) -> bool {
        match self {
            Self::Link(follow) => follow.takes_events(),
            Self::Paths(_) => true,
            Self::Events { repairs } => *repairs || link.scheduler.is_some(),
        }
    }

    /// Drops the events of a connection, of which many would be kept otherwise, if nothing else takes them.
    pub(super) fn discard(&self, link: &Link) {
        if !self.takes_events(link) {
            while let Ok(Some(_)) = link.socket.try_event() {}
        }
    }

    /// Applies a change. Returns lines about it.
    pub(crate) async fn apply(&mut self, change: Below, link: &Link) -> Vec<String> {
        match (self, change) {
            (Self::Link(follow), Below::Link(change)) => {
                follow.apply(change, &link.socket).await;
                Vec::new()
            }
            (Self::Paths(paths), Below::Paths(change)) => paths.apply(change, &link.socket),
            (_, Below::Event(event)) => paths::line(&event, &link.socket).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}
