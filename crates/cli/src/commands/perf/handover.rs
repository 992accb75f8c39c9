//! What a client does as its link comes and goes: freezes, moves, unfreezes, and keeps a log of that.

mod args;
mod log;
mod triggers;

use std::net::IpAddr;

use whimbrel_net::{Clock, FreezeScope, PathChange, Socket};

pub(super) use args::{HandoverArgs, willing};
use log::Log;
pub(super) use log::Report;
use triggers::{Triggers, Word};

use super::link::Link;
use super::plan::{Direction, Plan, Transport};

/// What has to be done besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Consequence {
    /// There is no way to the server: whoever else talks to it need not try.
    Away,
    /// The way to the server was away or is another: who else talks to it should try anew.
    WayChanged,
}

/// Looks after a client's connections as its link comes and goes.
#[derive(Debug)]
pub(super) struct Handover {
    triggers: Triggers,
    links: Vec<Link>,
    /// Whose data there are to freeze.
    scope: FreezeScope,
    freezes: bool,
    on_move: PathChange,
    /// A freeze lasts.
    frozen: Option<FreezeScope>,
    log: Log,
}

impl Handover {
    /// Looks after these links to `server` from now on.
    ///
    /// # Errors
    /// The link cannot be followed.
    pub(super) fn start(
        args: &HandoverArgs,
        plan: &Plan,
        clock: Clock,
        server: IpAddr,
        links: &[Link],
    ) -> anyhow::Result<Self> {
        let scope = match plan.direction {
            Direction::Up => FreezeScope::Local,
            Direction::Down => FreezeScope::Remote,
            Direction::Both => FreezeScope::Both,
        };
        Ok(Self {
            triggers: Triggers::listen(args, clock, server, plan.transport == Transport::Dccp)?,
            links: links.to_vec(),
            scope,
            freezes: args.freezes_on_link_loss(),
            on_move: args.on_move(),
            frozen: None,
            log: Log::new(clock, links),
        })
    }

    /// Waits until there is something for others to do, and does meanwhile what the link asks for. Giving up waiting
    /// loses nothing.
    ///
    /// # Errors
    /// The link cannot be followed any more.
    pub(super) async fn next(&mut self) -> anyhow::Result<Consequence> {
        loop {
            let rtt = self.sockets().filter_map(rtt).max();
            let word = self.triggers.next(rtt).await?;
            let consequence = self.act(word).await;
            self.log.look(&self.links);
            if let Some(consequence) = consequence {
                return Ok(consequence);
            }
        }
    }

    async fn act(&mut self, word: Word) -> Option<Consequence> {
        match word {
            Word::Look => {}
            Word::Freeze => self.freeze(self.scope, "signal"),
            Word::Unfreeze => self.unfreeze(),
            Word::Down => {
                self.log.on_link("down");
                // There is no path by which the other end could be told.
                if self.freezes && self.scope != FreezeScope::Remote {
                    self.freeze(FreezeScope::Local, "link");
                }
                return Some(Consequence::Away);
            }
            Word::Moved { address } => {
                self.change_path(address).await;
                return Some(Consequence::WayChanged);
            }
            Word::Up => {
                self.log.on_link("up");
                if self.freezes {
                    self.unfreeze();
                }
                return Some(Consequence::WayChanged);
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

    fn unfreeze(&mut self) {
        if let Some(scope) = self.frozen.take() {
            self.sockets().for_each(|socket| socket.unfreeze(scope));
            self.log.on_unfreeze();
        }
    }

    /// Packets leave by another way from now on.
    async fn change_path(&mut self, has_other_address: bool) {
        for socket in self.sockets() {
            // Where the new address cannot be used yet, or is the host's, its server finds out by itself.
            if !has_other_address || socket.rebind(None, self.on_move).await.is_err() {
                socket.path_changed(self.on_move);
            }
            if self.freezes && self.frozen.is_none() {
                // Made before the old one was broken: it may carry more.
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

    /// What happened, as far as it can be told now.
    pub(super) fn report(&mut self) -> Report {
        self.log.look(&self.links);
        self.log.report()
    }
}

fn rtt(socket: &Socket) -> Option<whimbrel_net::Duration> {
    let snapshot = socket.snapshot()?;
    snapshot.sender.rtt.or(snapshot.rtt)
}
