use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::super::caller::{Caller, Joining};
use super::super::outcome::Figures;
use super::super::plan::tests::plan;
use super::*;

fn figures(datagrams: u64) -> Figures {
    let mut figures = Figures::default();
    figures.0.datagrams = datagrams;
    figures
}

fn patient(patience_s: f64) -> Plan {
    Plan { patience_s, ..plan() }
}

/// Both ends of a conversation, what more connections come by, and where.
async fn pair(plan: &Plan) -> (Conversation, Caller, mpsc::UnboundedSender<Joining>, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let at = listener.local_addr().expect("an address");
    let (reader, writer) = halves(TcpStream::connect(at).await.expect("it listens"));
    let clock = Clock::start();
    let conversation = Conversation::new(clock, ("127.0.0.1".into(), at.port()), plan, reader, writer);
    let (joining, arriving) = mpsc::unbounded_channel();
    let accepted = halves(listener.accept().await.expect("a connection").0);
    (conversation, Caller::new(clock, accepted, arriving, plan), joining, listener)
}

/// What the server does with a connection that begins with Resume.
async fn bring_back(listener: &TcpListener, joining: &mpsc::UnboundedSender<Joining>) -> u64 {
    let (mut reader, writer) = halves(listener.accept().await.expect("a connection").0);
    let first = reader.next().await.expect("a line").expect("a message");
    let Message::Resume { token, intervals } = first else { panic!("{first:?}") };
    assert_eq!(token, plan().token);
    joining.send(Joining::Client(reader, writer, intervals)).expect("the test goes on");
    intervals
}

async fn heard(conversation: &mut Conversation) -> u64 {
    match conversation.next().await.expect("the server is there") {
        Message::Interval { received, .. } => received.datagrams,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_that_was_cut_off_comes_back_and_hears_what_it_missed() {
    let (mut conversation, mut caller, joining, listener) = pair(&patient(20.0)).await;
    assert!(caller.tell(figures(1)).await);
    assert_eq!(heard(&mut conversation).await, 1);
    // The connection breaks; the server learns of it, and two intervals pass meanwhile.
    conversation.halves = None;
    assert!(timeout(StdDuration::from_millis(50), caller.next()).await.is_err(), "it waits");
    assert!(caller.tell(figures(2)).await && caller.tell(figures(3)).await);
    let server = async {
        assert_eq!(bring_back(&listener, &joining).await, 1);
        let word = caller.next().await;
        assert_eq!(word, Some(Message::Stop));
        assert!(caller.tell(figures(4)).await);
    };
    let client = async {
        assert_eq!(heard(&mut conversation).await, 2);
        assert_eq!(heard(&mut conversation).await, 3);
        conversation.stop().await.expect("connected");
        assert_eq!(heard(&mut conversation).await, 4);
    };
    tokio::join!(server, client);
}

#[tokio::test]
async fn the_wish_to_stop_is_repeated_on_the_new_connection() {
    let (mut conversation, mut caller, joining, listener) = pair(&patient(20.0)).await;
    conversation.halves = None;
    conversation.stop().await.expect("there is patience");
    let server = async {
        bring_back(&listener, &joining).await;
        assert_eq!(caller.next().await, Some(Message::Stop));
        assert!(caller.tell(figures(1)).await);
    };
    let (_, told) = tokio::join!(server, heard(&mut conversation));
    assert_eq!(told, 1);
}

#[tokio::test]
async fn patience_ends() {
    for patience_s in [0.0, 0.3] {
        let (mut conversation, caller, _joining, listener) = pair(&patient(patience_s)).await;
        drop((caller, listener));
        let error = conversation.next().await.expect_err("nobody is there");
        assert!(
            format!("{error:#}").contains(if patience_s > 0.0 { "cannot be reached" } else { "has gone" }),
            "{error:#}"
        );
        let (conversation, mut caller, _joining, _listener) = pair(&patient(patience_s)).await;
        drop(conversation);
        assert_eq!(caller.next().await, None);
    }
}

#[tokio::test]
async fn without_patience_the_first_loss_of_the_link_ends_the_test() {
    let (mut conversation, _caller, _joining, _listener) = pair(&patient(0.0)).await;
    conversation.pause();
    let ended = timeout(StdDuration::from_millis(500), conversation.next()).await.expect("at once");
    assert!(ended.expect_err("no patience").to_string().contains("no way to the server"));
}

#[tokio::test]
async fn a_server_that_has_forgotten_the_test_says_so() {
    let (mut conversation, caller, _joining, listener) = pair(&patient(20.0)).await;
    drop(caller);
    let server = async {
        let (mut reader, mut writer) = halves(listener.accept().await.expect("a connection").0);
        reader.next().await.expect("a line");
        let reason = "it knows no such test any more".into();
        writer.send(&Message::Refusal { reason }).await.expect("it reads");
    };
    let ((), result) = tokio::join!(server, conversation.next());
    assert!(result.expect_err("refused").to_string().contains("no such test"));
}

#[tokio::test]
async fn while_there_is_no_way_nobody_tries_and_patience_ends_all_the_same() {
    let (mut conversation, _caller, _joining, listener) = pair(&patient(0.4)).await;
    conversation.pause();
    let tried = async {
        let waited = timeout(StdDuration::from_millis(200), listener.accept()).await;
        assert!(waited.is_err(), "an attempt");
    };
    let (result, ()) = tokio::join!(conversation.next(), tried);
    assert!(result.expect_err("away for too long").to_string().contains("no way"));
    let (mut conversation, mut caller, joining, listener) = pair(&patient(20.0)).await;
    conversation.pause();
    assert!(timeout(StdDuration::from_millis(50), conversation.next()).await.is_err(), "it waits");
    conversation.start_anew();
    let server = async {
        bring_back(&listener, &joining).await;
        // It hears of the client's return while it waits for its next word.
        assert!(timeout(StdDuration::from_millis(100), caller.next()).await.is_err());
        assert!(caller.tell(figures(7)).await);
    };
    assert_eq!(tokio::join!(server, heard(&mut conversation)).1, 7);
}
