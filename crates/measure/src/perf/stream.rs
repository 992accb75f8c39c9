//! All streams of a test at one of its ends.

use std::sync::{Arc, Mutex};

use anyhow::Context;
use tokio::sync::watch;
use tokio::task::JoinSet;
use whimbrel_net::{Clock, Instant};

use super::datagram::{Head, Kind, Place};
use super::link::{Link, ReceiveBuffer};
use super::meter::{Meter, ReceiverFigures};
use super::plan::{Plan, Transport};
use super::sender::{SenderFigures, StreamSender, lock};

/// The error for a broken data connection.
const LOST: &str = "a data connection was lost in mid-test";

/// All streams of a test at one of its ends.
#[derive(Debug)]
pub(crate) struct Streams {
    clock: Clock,
    links: Vec<Link>,
    senders: Vec<Arc<StreamSender>>,
    meters: Vec<Arc<Mutex<Meter>>>,
    sending: JoinSet<anyhow::Result<()>>,
    receiving: JoinSet<anyhow::Result<()>>,
    stop: watch::Sender<bool>,
    /// Time at which the senders were stopped.
    stopped: Option<Instant>,
}

impl Streams {
    /// Starts sending and receiving by the plan, on links that carried `greetings` greetings before.
    pub(crate) fn start(
        clock: Clock,
        links: Vec<Link>,
        greetings: u64,
        plan: &Plan,
        sends: bool,
        receives: bool,
    ) -> Self {
        let (stop, _) = watch::channel(false);
        let mut streams = Self {
            clock,
            links,
            senders: Vec::new(),
            meters: Vec::new(),
            sending: JoinSet::new(),
            receiving: JoinSet::new(),
            stop,
            stopped: None,
        };
        for (index, link) in (0..).zip(&streams.links) {
            if receives {
                let meter = Arc::new(Mutex::new(Meter::new(clock.now(), plan.reception.latency())));
                streams.receiving.spawn(receive(clock, link.clone(), plan.clone(), meter.clone()));
                streams.meters.push(meter);
            }
            if sends {
                let sender = StreamSender::new(link.clone(), clock, greetings);
                streams.sending.spawn(sender.clone().run(plan.clone(), index, streams.stop.subscribe()));
                streams.senders.push(sender);
            }
        }
        streams
    }

    /// Waits until no stream sends any more; pending if none ever did.
    ///
    /// # Errors
    /// The first failure of a stream.
    pub(crate) async fn sent(&mut self) -> anyhow::Result<()> {
        if self.senders.is_empty() {
            return std::future::pending().await;
        }
        while let Some(finished) = self.sending.join_next().await {
            finished??;
        }
        Ok(())
    }

    /// Waits for an event of the data connections that concerns a client: if it sends, until no stream does
    /// any more; in either direction, until a connection breaks.
    ///
    /// # Errors
    /// A stream cannot send, or the server does not answer on its connection any more.
    pub(crate) async fn ended(&mut self, sends: bool) -> anyhow::Result<()> {
        let is_dccp = self.links.iter().any(|link| matches!(link, Link::Dccp(_)));
        loop {
            tokio::select! {
                Some(finished) = self.sending.join_next(), if sends => {
                    finished?.context(LOST)?;
                    if self.sending.is_empty() {
                        return Ok(());
                    }
                }
                // The kernel's transports survive short outages, and the control connection reports the rest.
                Some(finished) = self.receiving.join_next(), if is_dccp => finished?.context(LOST)?,
                else => return std::future::pending().await,
            }
        }
    }

    /// The measured part of the test begins.
    pub(crate) fn begin_measuring(&self) {
        self.read_losses();
        for meter in &self.meters {
            lock(meter).begin_measuring(self.clock.now());
        }
        for sender in &self.senders {
            sender.begin_measuring();
        }
    }

    /// Makes the senders stop.
    pub(crate) fn stop_sending(&mut self) {
        self.stopped.get_or_insert(self.clock.now());
        let _ = self.stop.send(true);
    }

    /// End of the figures' span: datagrams that arrive after the test belong to its last interval.
    fn end(&self) -> Instant {
        self.stopped.unwrap_or_else(|| self.clock.now())
    }

    /// Figures of all streams together since the last call.
    pub(crate) fn take_interval(&self) -> (ReceiverFigures, SenderFigures) {
        let end = self.end();
        let mut received = ReceiverFigures::default();
        self.read_losses();
        for meter in &self.meters {
            received.add(&lock(meter).take_interval(end));
        }
        let mut sent = SenderFigures::default();
        for sender in &self.senders {
            sent.add(&sender.take_interval());
        }
        (received, sent)
    }

    /// Reads the losses that the transport has detected.
    fn read_losses(&self) {
        for (meter, link) in self.meters.iter().zip(&self.links) {
            if let Some(snapshot) = link.snapshot() {
                lock(meter).set_losses(&snapshot);
            }
            if let Some(repair) = link.repair() {
                lock(meter).set_repair(repair.received);
            }
        }
    }

    /// Figures of each stream in the measured part of the test.
    pub(crate) fn totals(&self) -> (Vec<ReceiverFigures>, Vec<SenderFigures>) {
        let end = self.end();
        self.read_losses();
        let received = self.meters.iter().map(|meter| lock(meter).total(end)).collect();
        (received, self.senders.iter().map(|sender| sender.total()).collect())
    }

    /// Closes every link, for a second at most.
    pub(crate) async fn close(mut self) {
        self.receiving.abort_all();
        let mut closing = JoinSet::new();
        for link in self.links {
            closing.spawn(async move { link.close().await });
        }
        let all = async { while closing.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), all).await;
    }
}

async fn receive(clock: Clock, link: Link, plan: Plan, meter: Arc<Mutex<Meter>>) -> anyhow::Result<()> {
    let mut buffer = ReceiveBuffer::default();
    let is_stream = plan.transport == Transport::Tcp;
    while link
        .receive(&clock, &mut buffer, |arrival| {
            if is_stream {
                lock(&meter).record_bytes(arrival.bytes.len(), arrival.at);
            } else if let Some(head) = Head::read(&arrival.bytes)
                && head.token == plan.token
                && head.kind == Kind::Data
            {
                let part = Place::read(&arrival.bytes).map(|place| (place, arrival.is_repaired));
                lock(&meter).record(head, part, arrival.bytes.len(), arrival.at, arrival.marked);
            }
        })
        .await?
    {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use whimbrel_net::{Config, HostOptions, Listener, Socket, TimerConfig};

    use super::super::plan::{self, Direction};
    use super::*;

    /// A test with a dead server, while its host still accepts packets.
    #[tokio::test]
    async fn a_server_that_does_not_answer_any_more_ends_the_streams_of_either_direction() {
        let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = port.local_addr().unwrap();
        for (direction, sends) in [(Direction::Up, true), (Direction::Down, false)] {
            let socket = port.try_clone().unwrap();
            let life = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            let serving = Listener::from_std(socket, 5001, Config::default(), HostOptions::default());
            let listener = life.spawn(serving).await.unwrap().unwrap();
            let timers = TimerConfig::default().idle(Some(whimbrel_net::Duration::from_millis(300)));
            let socket = Socket::connect(at, 5001, Config::default().timers(timers)).await.unwrap();
            socket.send(Bytes::from_static(b"hello")).await.unwrap();
            let plan = plan::tests::plan_with(|plan| {
                (plan.direction, plan.times.interval_s, plan.load.rate_bps) = (direction, 3600.0, Some(1e5));
            });
            let links = vec![Link::Dccp(Arc::new(socket))];
            let mut streams = Streams::start(Clock::start(), links, 0, &plan, sends, !sends);
            let still = tokio::time::timeout(Duration::from_millis(500), streams.ended(sends)).await;
            assert!(still.is_err(), "{still:?}");
            life.shutdown_background();
            drop(listener);
            let ended = tokio::time::timeout(Duration::from_secs(10), streams.ended(sends)).await.unwrap();
            let message = format!("{:#}", ended.unwrap_err());
            assert_eq!(message, "a data connection was lost in mid-test: the peer does not answer");
        }
    }
}
