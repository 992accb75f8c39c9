//! The server's side of what the two ends say to each other during a test: a client with patience may
//! lose its connection and come back by another.

use tokio::sync::mpsc;
use whimbrel_net::Clock;
use whimbrel_units::{Duration, Instant};

use super::control::{Message, Reader, Writer};
use super::link::Link;
use super::outcome::Figures;
use super::plan::Plan;

/// Something that belongs to a test and comes by a connection of its own.
#[derive(Debug)]
pub(super) enum Joining {
    /// A stream's data connection.
    Link(u16, Link),
    /// The client is back; it has heard of so many intervals.
    Client(Reader, Writer, u64),
}

/// The client of a test.
#[derive(Debug)]
pub(super) struct Caller {
    clock: Clock,
    reader: Reader,
    writer: Writer,
    arriving: mpsc::UnboundedReceiver<Joining>,
    /// How long it may be away.
    patience: Duration,
    /// What it was told of each interval, where it may miss some.
    told: Vec<Figures>,
    /// Since when it cannot be heard.
    lost: Option<Instant>,
}

impl Caller {
    pub(super) fn new(
        clock: Clock,
        (reader, writer): (Reader, Writer),
        arriving: mpsc::UnboundedReceiver<Joining>,
        plan: &Plan,
    ) -> Self {
        Self { clock, reader, writer, arriving, patience: plan.patience(), told: Vec::new(), lost: None }
    }

    /// Its next word; `None`: it has gone. Giving up waiting loses none.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            let limit = match self.lost {
                Some(lost) => lost + self.patience,
                None => Instant::FAR_FUTURE,
            };
            tokio::select! {
                message = self.reader.next(), if self.lost.is_none() => match message {
                    Ok(Some(message)) => return Some(message),
                    _ if self.patience == Duration::ZERO => return None,
                    _ => self.lost = Some(self.clock.now()),
                },
                Some(joining) = self.arriving.recv() => if let Joining::Client(reader, writer, heard) = joining {
                    (self.reader, self.writer, self.lost) = (reader, writer, None);
                    self.repeat(heard).await;
                },
                () = self.clock.sleep_until(limit), if self.lost.is_some() => return None,
            }
        }
    }

    /// Tells it of an interval. False: it has gone.
    pub(super) async fn tell(&mut self, figures: Figures) -> bool {
        if self.patience > Duration::ZERO {
            self.told.push(figures);
        }
        self.say(&interval(figures)).await
    }

    /// Tells it something. False: it has gone.
    pub(super) async fn say(&mut self, message: &Message) -> bool {
        if self.lost.is_none() && self.writer.send(message).await.is_err() {
            self.lost = Some(self.clock.now());
        }
        self.lost.is_none() || self.patience > Duration::ZERO
    }

    /// Tells it what it has missed.
    async fn repeat(&mut self, heard: u64) {
        let missed: Vec<Figures> = self.told.iter().skip(heard as usize).copied().collect();
        for figures in missed {
            self.say(&interval(figures)).await;
        }
    }
}

fn interval((received, sent): Figures) -> Message {
    Message::Interval { received, sent }
}
