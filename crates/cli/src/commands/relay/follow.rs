//! The sender's reaction to its link: freezes, moves, and unfreezes the connection.

use std::net::SocketAddr;

use anyhow::Context;
use clap::Args;
use whimbrel_net::{Event, FreezeScope, LinkEvent, LinkMonitor, PathChange, Socket};

use crate::edge::address::zone_of;
use crate::interrupt::{Signal, Signals};

/// A change of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::commands) enum Change {
    /// As the system reports it.
    Link(LinkEvent),
    /// A script announces an outage: SIGUSR1.
    Announced,
    /// A script announces its end: SIGUSR2.
    Over,
    /// The other end sends to the new address.
    Confirmed,
}

/// Options of the end that follows its link.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::commands) struct LinkArgs {
    /// Freeze while there is no route to the other end, and follow the route to another address (Linux).
    #[arg(long)]
    pub(in crate::commands) freeze_on_link_loss: bool,
    /// Follow the route to another address without freezing (Linux).
    #[arg(long, conflicts_with = "freeze_on_link_loss")]
    pub(in crate::commands) follow_link: bool,
}

/// Follows the link of a connection.
#[derive(Debug)]
pub(in crate::commands) struct Follow {
    monitor: Option<LinkMonitor>,
    signals: Signals,
    freezes: bool,
    /// The data that are frozen.
    frozen: Option<FreezeScope>,
    /// The other end does not send to the new address yet.
    is_moving: bool,
    /// The link is back.
    is_back: bool,
}

impl Follow {
    /// Follows the link to `remote`; without `freezes` and `moves`, signals only.
    ///
    /// # Errors
    /// The link cannot be followed.
    pub(super) fn start(remote: SocketAddr, freezes: bool, moves: bool) -> anyhow::Result<Self> {
        let signals = Signals::listen()?;
        let monitor = match freezes || moves {
            true => {
                let monitor = LinkMonitor::open(remote.ip(), zone_of(remote).as_deref());
                Some(monitor.context("following the link")?)
            }
            false => None,
        };
        Ok(Self { monitor, signals, freezes, frozen: None, is_moving: false, is_back: false })
    }

    /// `true` while the other end has not confirmed a move.
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving
    }

    /// The next change. Cancel safe.
    ///
    /// # Errors
    /// The link cannot be followed any more.
    pub(super) async fn next(&mut self, socket: &Socket) -> anyhow::Result<Change> {
        let is_moving = self.is_moving;
        let confirmed = async {
            if is_moving {
                loop {
                    match socket.event().await {
                        Ok(Event::MoveConfirmed) => return,
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
            () = confirmed => Ok(Change::Confirmed),
            signal = self.signals.next() => Ok(match signal {
                Signal::User1 => Change::Announced,
                Signal::User2 => Change::Over,
            }),
        }
    }

    /// Applies a change to the connection.
    pub(super) async fn apply(&mut self, change: Change, socket: &Socket) {
        match change {
            Change::Announced => self.freeze(FreezeScope::Both, socket),
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
            Change::Over => self.unfreeze(socket),
            Change::Link(_) => {}
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

/// Moves to the address that the system gives now. If it cannot be used yet, the connection detects the change by itself, and `false` is
/// returned.
async fn change_address(socket: &Socket) -> bool {
    let has_moved = socket.rebind(None, PathChange::Keep).await.is_ok();
    if !has_moved {
        socket.path_changed(PathChange::Keep);
    }
    has_moved
}
