//! Sources of link actions: signals, and the system.

use std::future::pending;
use std::net::IpAddr;

use tokio::sync::broadcast;
use whimbrel_net::{Clock, Duration, Instant, Lead, LinkEvent, LinkMonitor};
use whimbrel_relay::{Outage, next_outage};

use crate::perf::ends::Handovers;

/// Interval between samples of the connections' states.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);

/// An action for the client's connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LinkAction {
    /// Sample the connections' states.
    Sample,
    Freeze,
    Unfreeze,
    /// The link is lost.
    Down,
    /// The link is back.
    Up,
    /// Packets take another route: from another address, or from the same.
    Moved {
        address: bool,
    },
}

/// The sources of link actions.
#[derive(Debug)]
pub(super) struct Triggers {
    clock: Clock,
    outages: Option<broadcast::Receiver<Outage>>,
    monitor: Option<LinkMonitor>,
    lead: Lead,
    notice: Option<Duration>,
    /// Time at which a freeze is due.
    freeze_at: Option<Instant>,
    /// Time of the next sample; `None` if there is nothing to sample.
    sample_at: Option<Instant>,
    /// The last action was a move to another address.
    has_moved: bool,
}

impl Triggers {
    pub(super) fn listen(
        handovers: &Handovers,
        clock: Clock,
        server: IpAddr,
        outages: Option<broadcast::Receiver<Outage>>,
    ) -> anyhow::Result<Self> {
        let monitor = match &handovers.interface {
            Some(interface) => Some(LinkMonitor::open(server, interface.as_deref())?),
            None => None,
        };
        let (lead, notice) = (handovers.lead, handovers.notice);
        let sample_at = handovers.wants_any().then(|| clock.now());
        Ok(Self { clock, outages, monitor, lead, notice, freeze_at: None, sample_at, has_moved: false })
    }

    /// The next action, at a round-trip time of `rtt`. Cancel safe.
    pub(super) async fn next(&mut self, rtt: Option<Duration>) -> anyhow::Result<LinkAction> {
        let Self { clock, outages, monitor, .. } = self;
        let due = self.freeze_at.unwrap_or(Instant::ZERO);
        let sample_at = self.sample_at.unwrap_or(Instant::ZERO);
        let signalled = async {
            match outages {
                Some(outages) => next_outage(outages).await,
                None => pending().await,
            }
        };
        let link_event = async {
            match monitor {
                Some(monitor) => monitor.next().await.map(|event| (event, monitor.route().is_some())),
                None => pending().await,
            }
        };
        let word = tokio::select! {
            biased;
            link_event = link_event => match link_event? {
                (LinkEvent::Down, _) => LinkAction::Down,
                (LinkEvent::Up, _) => LinkAction::Up,
                (LinkEvent::AddressChanged, true) => LinkAction::Moved { address: true },
                // The change of address was reported already.
                (LinkEvent::RouteChanged, true) if !self.has_moved => LinkAction::Moved { address: false },
                _ => LinkAction::Sample,
            },
            signal = signalled => match (signal, self.notice) {
                (Outage::Over, _) => LinkAction::Unfreeze,
                (Outage::Announced, None) => LinkAction::Freeze,
                (Outage::Announced, Some(notice)) => {
                    self.freeze_at = Some(self.lead.before(clock.now() + notice, rtt));
                    LinkAction::Sample
                }
            },
            () = clock.sleep_until(due), if self.freeze_at.is_some() => LinkAction::Freeze,
            () = clock.sleep_until(sample_at), if self.sample_at.is_some() => LinkAction::Sample,
        };
        self.has_moved = word == LinkAction::Moved { address: true };
        match word {
            LinkAction::Sample => self.sample_at = Some(self.clock.now() + SAMPLE_INTERVAL),
            // A scheduled freeze has begun, or is not needed.
            LinkAction::Freeze | LinkAction::Unfreeze | LinkAction::Up => {
                (self.freeze_at, self.sample_at) = (None, Some(self.clock.now()));
            }
            LinkAction::Down | LinkAction::Moved { .. } => {}
        }
        Ok(word)
    }
}
