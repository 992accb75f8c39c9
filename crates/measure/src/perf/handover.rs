//! A client's handling of its link going down and up: freezes, moves, unfreezes, and logs it.

mod log;
mod triggers;

use std::future::{pending, poll_fn};
use std::net::IpAddr;
use std::task::Poll;

use whimbrel_net::{Clock, Duration, Event, FreezeScope, PathChange, Socket};

use super::ends::Client;
use super::link::Link;
use super::plan::{Direction, Transport};
pub use log::HandoverReport;
use log::Log;
use triggers::{LinkAction, Triggers};

/// The consequence for other connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Consequence {
    /// There is no route to the server: other connections should pause.
    Away,
    /// The route to the server was interrupted or has changed: other connections should reconnect.
    RouteChanged,
}

/// Manages a client's connections as its link goes down and up.
#[derive(Debug)]
pub(super) struct Handover {
    triggers: Triggers,
    links: Vec<Link>,
    /// The half-connections to freeze, by the sender of the data.
    scope: FreezeScope,
    freezes: bool,
    on_move: PathChange,
    /// A freeze lasts.
    frozen: Option<FreezeScope>,
    /// The link is up again, and the freeze is to end.
    is_back: bool,
    /// For each link, `true` while the server has not confirmed a move.
    moving: Vec<bool>,
    log: Log,
}

impl Handover {
    /// Manages these links to `server` from now on.
    ///
    /// # Errors
    /// The link cannot be followed.
    pub(super) fn start(
        client: &Client,
        clock: Clock,
        server: IpAddr,
        links: &[Link],
    ) -> anyhow::Result<Self> {
        let (plan, handovers) = (&client.plan, &client.handover);
        let scope = match plan.direction {
            Direction::Up => FreezeScope::Local,
            Direction::Down => FreezeScope::Remote,
            Direction::Both => FreezeScope::Both,
        };
        let outages = (plan.transport == Transport::Dccp).then(|| client.outages.subscribe());
        Ok(Self {
            triggers: Triggers::listen(handovers, clock, server, outages)?,
            links: links.to_vec(),
            scope,
            freezes: handovers.freezes_on_link_loss,
            on_move: handovers.on_move,
            frozen: None,
            is_back: false,
            moving: vec![false; links.len()],
            log: Log::new(clock, links),
        })
    }

    /// Handles link events, and returns when there is a consequence for other connections. Cancel
    /// safe.
    ///
    /// # Errors
    /// The link cannot be followed any more.
    pub(super) async fn next(&mut self) -> anyhow::Result<Consequence> {
        loop {
            let rtt = self.sockets().filter_map(rtt).max();
            let consequence = tokio::select! {
                biased;
                action = self.triggers.next(rtt) => self.act(action?).await,
                link = confirmed(&self.links, &self.moving) => {
                    self.moving[link] = false;
                    self.resume();
                    None
                }
            };
            self.log.sample(&self.links);
            if let Some(consequence) = consequence {
                return Ok(consequence);
            }
        }
    }

    async fn act(&mut self, word: LinkAction) -> Option<Consequence> {
        match word {
            LinkAction::Sample => {}
            LinkAction::Freeze => self.freeze(self.scope, "signal"),
            LinkAction::Unfreeze => self.unfreeze(),
            LinkAction::Down => {
                self.is_back = false;
                self.log.on_link("down");
                // There is no path by which the other end could be notified.
                if self.freezes && self.scope != FreezeScope::Remote {
                    self.freeze(FreezeScope::Local, "link");
                }
                return Some(Consequence::Away);
            }
            LinkAction::Moved { address } => {
                self.change_path(address).await;
                return Some(Consequence::RouteChanged);
            }
            LinkAction::Up => {
                self.log.on_link("up");
                if self.freezes {
                    self.is_back = true;
                    self.resume();
                }
                return Some(Consequence::RouteChanged);
            }
        }
        None
    }

    fn freeze(&mut self, scope: FreezeScope, cause: &'static str) {
        if self.frozen.is_none() {
            self.log.on_freeze(cause, &self.links);
            self.frozen = Some(scope);
            self.sockets().for_each(|socket| socket.freeze(scope));
        }
    }

    /// Ends the freeze over a link that is up again. A server that has not followed would send its data to
    /// the old address.
    fn resume(&mut self) {
        if self.is_back && (self.frozen == Some(FreezeScope::Local) || !self.moving.contains(&true)) {
            self.unfreeze();
        }
    }

    fn unfreeze(&mut self) {
        self.is_back = false;
        if let Some(scope) = self.frozen.take() {
            self.sockets().for_each(|socket| socket.unfreeze(scope));
            self.log.on_unfreeze();
        }
    }

    /// Packets take another route from now on.
    async fn change_path(&mut self, has_other_address: bool) {
        for (link, moving) in self.links.iter().zip(&mut self.moving) {
            let Link::Dccp(socket) = link else { continue };
            *moving = has_other_address && socket.rebind(None, self.on_move).await.is_ok();
            // If the new address cannot be used yet, or is the host's, the client itself detects the change.
            if !*moving {
                socket.path_changed(self.on_move);
            }
            if self.freezes && self.frozen.is_none() {
                // Make before break: the new path may carry more.
                let _ = socket.probe();
            }
        }
        self.log.on_link("moved");
    }

    fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.links.iter().filter_map(|link| match link {
            Link::Dccp(socket) => Some(&**socket),
            Link::Udp(_) | Link::Tcp(_) => None,
        })
    }

    /// The report of the events so far.
    pub(super) fn report(&mut self) -> HandoverReport {
        self.log.sample(&self.links);
        self.log.report()
    }
}

/// Waits until the server confirms a move of one of the links that are moving, and returns its position.
/// Cancel safe.
async fn confirmed(links: &[Link], moving: &[bool]) -> usize {
    let mut waiting = Vec::new();
    for (position, (link, _)) in links.iter().zip(moving).enumerate().filter(|(_, (_, moving))| **moving) {
        if let Link::Dccp(socket) = link {
            waiting.push(Box::pin(async move {
                loop {
                    match socket.event().await {
                        Ok(Event::MoveConfirmed) => return position,
                        Ok(_) => {}
                        // The end of the connection is reported elsewhere.
                        Err(_) => pending().await,
                    }
                }
            }));
        }
    }
    poll_fn(|context| {
        let found = waiting.iter_mut().find_map(|each| match each.as_mut().poll(context) {
            Poll::Ready(position) => Some(position),
            Poll::Pending => None,
        });
        found.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

fn rtt(socket: &Socket) -> Option<Duration> {
    let snapshot = socket.snapshot()?;
    snapshot.sender.rtt.or(snapshot.rtt)
}
