//! Packets for one destination that take several links: multipath spraying, or a bond of links.

use crate::LinkId;
use crate::random::RandomStream;

/// Links for a destination's packets, with shares.
#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    /// The links and their weights: a link of twice the weight gets twice the packets.
    pub links: Vec<(LinkId, f64)>,
    /// Choice of a packet's link.
    pub by: SpreadBy,
}

/// Choice of a packet's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpreadBy {
    /// In turns, as evenly as the weights allow.
    #[default]
    Turns,
    /// By chance, each packet by itself.
    Chance,
    /// By the agent that sends it ([`Agent::path`](crate::Agent::path)): the number of the link in the list.
    /// In turns, if the agent has no choice.
    Sender,
}

impl Spread {
    /// Returns `true` if there is a link and each weight is above zero.
    pub fn is_sound(&self) -> bool {
        !self.links.is_empty() && self.links.iter().all(|(_, weight)| weight.is_finite() && *weight > 0.0)
    }
}

/// A [`Spread`] at work.
pub(crate) struct Spreading {
    spread: Spread,
    total: f64,
    /// Credit of each link, in packets times the total weight.
    owed: Vec<f64>,
    random: RandomStream,
}

impl Spreading {
    pub(crate) fn new(spread: Spread, random: RandomStream) -> Self {
        let total = spread.links.iter().map(|(_, weight)| weight).sum();
        let owed = vec![0.0; spread.links.len()];
        Self { spread, total, owed, random }
    }

    /// `true` if senders choose the links of their packets.
    pub(crate) fn is_by_sender(&self) -> bool {
        self.spread.by == SpreadBy::Sender
    }

    /// The link of the next packet. `path`: the choice of its sender.
    pub(crate) fn next(&mut self, path: Option<usize>) -> LinkId {
        let path = path.filter(|path| self.is_by_sender() && *path < self.spread.links.len());
        let chosen = match self.spread.by {
            SpreadBy::Sender if path.is_some() => path.unwrap_or(0),
            SpreadBy::Turns | SpreadBy::Sender => self.by_turns(),
            SpreadBy::Chance => self.by_chance(),
        };
        self.spread.links[chosen].0
    }

    /// Smooth weighted round robin: the link with the greatest credit; of equals, the first.
    fn by_turns(&mut self) -> usize {
        let mut most = 0;
        for (link, (_, weight)) in self.spread.links.iter().enumerate() {
            self.owed[link] += weight;
            if self.owed[link] > self.owed[most] {
                most = link;
            }
        }
        self.owed[most] -= self.total;
        most
    }

    fn by_chance(&mut self) -> usize {
        let mut left = self.random.uniform() * self.total;
        let last = self.spread.links.len() - 1;
        let taken = self.spread.links[..last].iter().position(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        taken.unwrap_or(last)
    }
}
