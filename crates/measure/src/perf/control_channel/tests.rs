use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::super::outcome::Figures;
use super::super::plan::tests::{plan, plan_with};
use super::super::test_client::{AcceptedConnection, TestClient};
use super::*;

fn figures(datagrams: u64) -> Figures {
    let mut figures = Figures::default();
    figures.0.datagrams = datagrams;
    figures
}

fn patient(patience_s: f64) -> Plan {
    plan_with(|plan| plan.times.patience_s = patience_s)
}

/// Both ends of a control channel, the queue of further connections, and the listener.
async fn pair(
    plan: &Plan,
) -> (ControlChannel, TestClient, mpsc::UnboundedSender<AcceptedConnection>, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let at = listener.local_addr().expect("an address");
    let (reader, writer) = halves(TcpStream::connect(at).await.expect("it listens"));
    let clock = Clock::start();
    let channel = ControlChannel::new(clock, at.into(), plan, reader, writer);
    let (connections, arriving) = mpsc::unbounded_channel();
    let accepted = halves(listener.accept().await.expect("a connection").0);
    (channel, TestClient::new(clock, accepted, arriving, plan), connections, listener)
}

/// The server's handling of a connection that begins with Resume.
async fn bring_back(listener: &TcpListener, connections: &mpsc::UnboundedSender<AcceptedConnection>) -> u64 {
    let (mut reader, writer) = halves(listener.accept().await.expect("a connection").0);
    let first = reader.next().await.expect("a line").expect("a message");
    let Message::Resume { token, intervals } = first else { panic!("{first:?}") };
    assert_eq!(token, plan().token);
    connections.send(AcceptedConnection::Client(reader, writer, intervals)).expect("the test goes on");
    intervals
}

async fn next_interval(channel: &mut ControlChannel) -> u64 {
    match channel.next().await.expect("the server is there") {
        Message::Interval { received, .. } => received.datagrams,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_that_was_cut_off_reconnects_and_receives_what_it_missed() {
    let (mut channel, mut client, connections, listener) = pair(&patient(20.0)).await;
    assert!(client.send_figures(figures(1)).await);
    assert_eq!(next_interval(&mut channel).await, 1);
    // The connection breaks; the server detects it, and two intervals pass meanwhile.
    channel.halves = None;
    assert!(timeout(StdDuration::from_millis(50), client.next()).await.is_err(), "it waits");
    assert!(client.send_figures(figures(2)).await && client.send_figures(figures(3)).await);
    let server = async {
        assert_eq!(bring_back(&listener, &connections).await, 1);
        let word = client.next().await;
        assert_eq!(word, Some(Message::Stop));
        assert!(client.send_figures(figures(4)).await);
    };
    let client = async {
        assert_eq!(next_interval(&mut channel).await, 2);
        assert_eq!(next_interval(&mut channel).await, 3);
        channel.stop().await.expect("connected");
        assert_eq!(next_interval(&mut channel).await, 4);
    };
    tokio::join!(server, client);
}

#[tokio::test]
async fn a_stop_request_is_repeated_on_the_new_connection() {
    let (mut channel, mut client, connections, listener) = pair(&patient(20.0)).await;
    channel.halves = None;
    channel.stop().await.expect("there is patience");
    let server = async {
        bring_back(&listener, &connections).await;
        assert_eq!(client.next().await, Some(Message::Stop));
        assert!(client.send_figures(figures(1)).await);
    };
    let (_, interval) = tokio::join!(server, next_interval(&mut channel));
    assert_eq!(interval, 1);
}

#[tokio::test]
async fn patience_ends() {
    for patience_s in [0.0, 0.3] {
        let (mut channel, client, _connections, listener) = pair(&patient(patience_s)).await;
        drop((client, listener));
        let error = channel.next().await.expect_err("there is no server");
        assert!(
            format!("{error:#}").contains(if patience_s > 0.0 { "cannot be reached" } else { "has gone" }),
            "{error:#}"
        );
        let (channel, mut client, _connections, _listener) = pair(&patient(patience_s)).await;
        drop(channel);
        assert_eq!(client.next().await, None);
    }
}

#[tokio::test]
async fn without_patience_the_first_loss_of_the_link_ends_the_test() {
    let (mut channel, _caller, _connections, _listener) = pair(&patient(0.0)).await;
    channel.pause();
    let ended = timeout(StdDuration::from_millis(500), channel.next()).await.expect("at once");
    assert!(ended.expect_err("no patience").to_string().contains("no route to the server"));
}

#[tokio::test]
async fn a_server_without_the_test_refuses_to_resume_it() {
    let (mut channel, client, _connections, listener) = pair(&patient(20.0)).await;
    drop(client);
    let server = async {
        let (mut reader, mut writer) = halves(listener.accept().await.expect("a connection").0);
        reader.next().await.expect("a line");
        let reason = "it has no such test any more".into();
        writer.send(&Message::Refusal { reason }).await.expect("it reads");
    };
    let ((), result) = tokio::join!(server, channel.next());
    assert!(result.expect_err("refused").to_string().contains("no such test"));
}

#[tokio::test]
async fn without_a_route_there_are_no_attempts_and_patience_still_ends() {
    let (mut channel, _caller, _connections, listener) = pair(&patient(0.4)).await;
    channel.pause();
    let tried = async {
        let waited = timeout(StdDuration::from_millis(200), listener.accept()).await;
        assert!(waited.is_err(), "an attempt");
    };
    let (result, ()) = tokio::join!(channel.next(), tried);
    assert!(result.expect_err("away for too long").to_string().contains("no route"));
    let (mut channel, mut client, connections, listener) = pair(&patient(20.0)).await;
    channel.pause();
    assert!(timeout(StdDuration::from_millis(50), channel.next()).await.is_err(), "it waits");
    channel.reconnect();
    let server = async {
        bring_back(&listener, &connections).await;
        // The server accepts the client's new connection while it waits for the next message.
        assert!(timeout(StdDuration::from_millis(100), client.next()).await.is_err());
        assert!(client.send_figures(figures(7)).await);
    };
    assert_eq!(tokio::join!(server, next_interval(&mut channel)).1, 7);
}
