//! The server's side of the control channel during a test: a client with patience may lose its
//! connection and resume on another.

use tokio::sync::mpsc;
use whimbrel_net::Clock;
use whimbrel_units::{Duration, Instant};

use super::control::{Message, Reader, Writer};
use super::link::Link;
use super::outcome::Figures;
use super::plan::Plan;

/// A connection that belongs to a test.
#[derive(Debug)]
pub(super) enum AcceptedConnection {
    /// A stream's data connection.
    Link(u16, Link),
    /// The client has reconnected; it has received this many intervals.
    Client(Reader, Writer, u64),
}

/// The client of a test.
#[derive(Debug)]
pub(super) struct TestClient {
    clock: Clock,
    reader: Reader,
    writer: Writer,
    arriving: mpsc::UnboundedReceiver<AcceptedConnection>,
    /// Time for which it may be unreachable.
    patience: Duration,
    /// The figures sent for each interval, if it may miss some.
    sent: Vec<Figures>,
    /// Time since which it is unreachable.
    lost: Option<Instant>,
}

impl TestClient {
    pub(super) fn new(
        clock: Clock,
        (reader, writer): (Reader, Writer),
        arriving: mpsc::UnboundedReceiver<AcceptedConnection>,
        plan: &Plan,
    ) -> Self {
        Self {
            clock,
            reader,
            writer,
            arriving,
            patience: plan.times.patience(),
            sent: Vec::new(),
            lost: None,
        }
    }

    /// Its next message; `None` if it has gone. Cancel safe.
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
                Some(accepted) = self.arriving.recv() => if let AcceptedConnection::Client(reader, writer, received) = accepted {
                    (self.reader, self.writer, self.lost) = (reader, writer, None);
                    self.repeat(received).await;
                },
                () = self.clock.sleep_until(limit), if self.lost.is_some() => return None,
            }
        }
    }

    /// Sends it the figures of an interval. Returns `false` if it has gone.
    pub(super) async fn send_figures(&mut self, figures: Figures) -> bool {
        if self.patience > Duration::ZERO {
            self.sent.push(figures);
        }
        self.send(&interval(figures)).await
    }

    /// Sends it a message. Returns `false` if it has gone.
    pub(super) async fn send(&mut self, message: &Message) -> bool {
        if self.lost.is_none() && self.writer.send(message).await.is_err() {
            self.lost = Some(self.clock.now());
        }
        self.lost.is_none() || self.patience > Duration::ZERO
    }

    /// Sends it the figures that it has missed.
    async fn repeat(&mut self, received: u64) {
        let missed: Vec<Figures> = self.sent.iter().skip(received as usize).copied().collect();
        for figures in missed {
            self.send(&interval(figures)).await;
        }
    }
}

fn interval((received, sent): Figures) -> Message {
    Message::Interval { received, sent }
}
