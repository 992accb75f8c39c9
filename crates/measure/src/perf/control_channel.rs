//! The client's control channel during a test, which resumes after an outage of the link.
//!
//! A TCP connection does not survive a change of address, and after a long silence the server's is slow
//! to retry. A client with patience opens another, and receives the figures that it missed.

use std::time::Duration as StdDuration;

use anyhow::{Context, anyhow, bail};
use tokio::net::TcpStream;
use tokio::time::timeout;
use whimbrel_net::{Clock, HostPort};
use whimbrel_relay::address::{connect_tcp, resolve};
use whimbrel_relay::text::quoted;
use whimbrel_units::{Duration, Instant};

use super::control::{Message, Reader, Writer, halves};
use super::ends::ANSWER_TIME;
use super::plan::Plan;

/// Time limit of one attempt to reach the server again, and the pause after one that failed.
const ATTEMPT: StdDuration = StdDuration::from_secs(1);
const PAUSE: StdDuration = StdDuration::from_millis(100);

/// The client's side of the control channel.
#[derive(Debug)]
pub(super) struct ControlChannel {
    clock: Clock,
    /// The server's name and port.
    at: HostPort,
    token: u64,
    /// Time for which the link may be down.
    patience: Duration,
    /// The longest silence accepted.
    quiet: StdDuration,
    halves: Option<(Reader, Writer)>,
    /// Intervals received.
    intervals: u64,
    /// The client has requested the end.
    stopped: bool,
    /// Time since which the server is unreachable.
    lost: Option<Instant>,
    /// There is no route to it: attempts are useless.
    is_away: bool,
}

impl ControlChannel {
    /// Continues the connection of `reader` and `writer`.
    pub(super) fn new(clock: Clock, at: HostPort, plan: &Plan, reader: Reader, writer: Writer) -> Self {
        Self {
            clock,
            at,
            token: plan.token,
            patience: plan.times.patience(),
            quiet: StdDuration::from(plan.times.interval()) + ANSWER_TIME,
            halves: Some((reader, writer)),
            intervals: 0,
            stopped: false,
            lost: None,
            is_away: false,
        }
    }

    /// The server's next message. Cancel safe.
    ///
    /// # Errors
    /// The server has gone, or been silent for longer than the patience.
    pub(super) async fn next(&mut self) -> anyhow::Result<Message> {
        loop {
            if self.is_away {
                let until = self.lost.unwrap_or(self.clock.now()) + self.patience;
                self.clock.sleep_until(until).await;
                self.give_up_unless_patient(anyhow!("there is no route to the server any more"))?;
            }
            if self.halves.is_none() {
                self.resume().await?;
            }
            let Some((reader, _)) = &mut self.halves else { continue };
            let trouble = match timeout(self.quiet, reader.next()).await {
                Ok(Ok(Some(message))) => {
                    self.lost = None;
                    self.intervals += u64::from(matches!(message, Message::Interval { .. }));
                    if let Message::Refusal { reason } = message {
                        bail!("the server does not continue: {}", quoted(&reason));
                    }
                    return Ok(message);
                }
                Ok(Ok(None)) if self.stopped => anyhow!("the server has gone without a report"),
                Ok(Ok(None)) => anyhow!("the server has gone"),
                Ok(Err(error)) => error,
                Err(_) => {
                    anyhow!("the server vanished: no message from it for {:.0} s", self.quiet.as_secs_f64())
                }
            };
            self.give_up_unless_patient(trouble)?;
        }
    }

    /// Requests the end of the test. From now on the server has less time to answer.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        (self.stopped, self.quiet) = (true, ANSWER_TIME);
        // Without a route, it is sent on the next connection.
        if let Some((_, writer)) = self.halves.as_mut().filter(|_| !self.is_away)
            && let Err(error) = writer.send(&Message::Stop).await
        {
            self.give_up_unless_patient(error)?;
        }
        Ok(())
    }

    /// The route to the server has changed, or was interrupted: messages on the old connection may be lost.
    pub(super) fn reconnect(&mut self) {
        self.is_away = false;
        if self.patience > Duration::ZERO {
            self.halves = None;
            self.lost.get_or_insert(self.clock.now());
        }
    }

    /// There is no route to the server until [`ControlChannel::reconnect`]; without patience that ends the
    /// test. The connection is not closed, as its FIN would be retransmitted repeatedly.
    pub(super) fn pause(&mut self) {
        self.is_away = true;
        self.lost.get_or_insert(self.clock.now());
    }

    fn give_up_unless_patient(&mut self, trouble: anyhow::Error) -> anyhow::Result<()> {
        let now = self.clock.now();
        let lost = *self.lost.get_or_insert(now);
        self.halves = None;
        if now - lost < self.patience { Ok(()) } else { Err(trouble) }
    }

    /// Retries until the server is reached.
    async fn resume(&mut self) -> anyhow::Result<()> {
        loop {
            let attempt = timeout(ATTEMPT, async { connect_tcp(&resolve(&self.at, 0).await?).await });
            let result = match attempt.await.context("no answer") {
                Ok(Ok(stream)) => self.greet(stream).await,
                Ok(Err(error)) | Err(error) => Err(error),
            };
            let Err(error) = result else { return Ok(()) };
            let text = format!("{} cannot be reached any more", self.at);
            self.give_up_unless_patient(error.context(text))?;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn greet(&mut self, stream: TcpStream) -> anyhow::Result<()> {
        let (reader, mut writer) = halves(stream);
        writer.send(&Message::Resume { token: self.token, intervals: self.intervals }).await?;
        if self.stopped {
            writer.send(&Message::Stop).await?;
        }
        self.halves = Some((reader, writer));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
