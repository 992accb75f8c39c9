//! Where word of the link comes from: signals, and the system.

use std::future::pending;
use std::net::IpAddr;

use whimbrel_net::{Clock, Duration, Instant, Lead, LinkEvent, LinkMonitor};

use super::HandoverArgs;
use crate::interrupt::{Signal, Signals};

/// How often to look at what the connections are doing.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// What there is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// See how things are.
    Look,
    Freeze,
    Unfreeze,
    /// The link is lost.
    Down,
    /// It is back.
    Up,
    /// Packets leave by another way: from another address, or from the same.
    Moved {
        address: bool,
    },
}

/// Where word of the link comes from.
#[derive(Debug)]
pub(super) struct Triggers {
    clock: Clock,
    signals: Option<Signals>,
    monitor: Option<LinkMonitor>,
    lead: Lead,
    notice: Option<Duration>,
    /// A freeze is due then.
    freeze_at: Option<Instant>,
    /// Look then; never where there is nothing to look for.
    look_at: Option<Instant>,
    /// The last word was a move to another address.
    has_moved: bool,
}

impl Triggers {
    pub(super) fn listen(
        args: &HandoverArgs,
        clock: Clock,
        server: IpAddr,
        is_dccp: bool,
    ) -> anyhow::Result<Self> {
        let monitor = match args.interface() {
            Some(interface) => Some(LinkMonitor::open(server, interface)?),
            None => None,
        };
        let signals = if is_dccp { Some(Signals::listen()?) } else { None };
        let (lead, notice, look_at) = (args.lead(), args.notice(), args.wants_any().then(|| clock.now()));
        Ok(Self { clock, signals, monitor, lead, notice, freeze_at: None, look_at, has_moved: false })
    }

    /// The next word, at a round-trip time of `rtt`. Giving up waiting loses none.
    pub(super) async fn next(&mut self, rtt: Option<Duration>) -> anyhow::Result<Word> {
        let Self { clock, signals, monitor, .. } = self;
        let due = self.freeze_at.unwrap_or(Instant::ZERO);
        let look_at = self.look_at.unwrap_or(Instant::ZERO);
        let signalled = async {
            match signals {
                Some(signals) => signals.next().await,
                None => pending().await,
            }
        };
        let told = async {
            match monitor {
                Some(monitor) => monitor.next().await.map(|event| (event, monitor.route().is_some())),
                None => pending().await,
            }
        };
        let word = tokio::select! {
            biased;
            told = told => match told? {
                (LinkEvent::Down, _) => Word::Down,
                (LinkEvent::Up, _) => Word::Up,
                (LinkEvent::AddressChanged, true) => Word::Moved { address: true },
                // Another address is reason enough.
                (LinkEvent::RouteChanged, true) if !self.has_moved => Word::Moved { address: false },
                _ => Word::Look,
            },
            signal = signalled => match (signal, self.notice) {
                (Signal::User2, _) => Word::Unfreeze,
                (Signal::User1, None) => Word::Freeze,
                (Signal::User1, Some(notice)) => {
                    self.freeze_at = Some(self.lead.before(clock.now() + notice, rtt));
                    Word::Look
                }
            },
            () = clock.sleep_until(due), if self.freeze_at.is_some() => Word::Freeze,
            () = clock.sleep_until(look_at), if self.look_at.is_some() => Word::Look,
        };
        self.has_moved = word == Word::Moved { address: true };
        match word {
            Word::Look => self.look_at = Some(self.clock.now() + LOOK_INTERVAL),
            // A freeze that was to come has come, or is superfluous.
            Word::Freeze | Word::Unfreeze | Word::Up => {
                (self.freeze_at, self.look_at) = (None, Some(self.clock.now()));
            }
            Word::Down | Word::Moved { .. } => {}
        }
        Ok(word)
    }
}
