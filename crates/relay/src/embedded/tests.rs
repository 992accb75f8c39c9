//! Two programs of this process, each with an end of a relay.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc};
use tokio::time::{sleep, timeout};
use whimbrel_net::Ccid;

use super::*;
use crate::{Far, Near, Notice, Observer, Options, Protection, Stop};

/// A program, and what it is sent.
fn program() -> (Embedded, mpsc::UnboundedReceiver<(u8, Vec<u8>)>) {
    let (arrived, arrivals) = mpsc::unbounded_channel();
    // The program refuses empty datagrams.
    let deliver =
        move |port, payload: &[u8]| !payload.is_empty() && arrived.send((port, payload.to_vec())).is_ok();
    (Embedded::new(deliver), arrivals)
}

#[tokio::test]
async fn datagrams_and_answers_keep_their_port_and_a_refused_one_is_counted() {
    let (server, mut questions) = program();
    let (client, mut answers) = program();
    let far = Far {
        options: Options::default(),
        to: Programs::Embedded(server.clone()),
        bind: Some((Ipv4Addr::LOCALHOST, 0).into()),
        socket: None,
        lda: None,
        reorder: None,
        max_peers: 1,
        one_off: true,
        protection: Protection::default(),
    };
    let (told, mut addresses) = mpsc::unbounded_channel();
    let observer: Observer = Arc::new(move |_, notice: &Notice<'_>| {
        if let Notice::Listening { at, .. } = notice {
            told.send(*at)?;
        }
        Ok(())
    });
    let listening = tokio::spawn(crate::listen(far, observer, Stop::new().1));
    let host = addresses.recv().await.expect("an address");
    let near = Near {
        options: Options { interval: whimbrel_units::Duration::from_millis(50), ..Options::default() },
        host: host.to_string().parse().expect("an address"),
        from: Programs::Embedded(client.clone()),
        ccid: Ccid::TFRC,
        freezes: false,
        follows: false,
        paths: Vec::new(),
        outages: broadcast::channel(1).0,
        protection: Protection::default(),
    };
    let (told, mut sums) = mpsc::unbounded_channel();
    let observer: Observer = Arc::new(move |_, notice: &Notice<'_>| {
        if let Notice::Figures(figures) = notice {
            let _ = told.send(figures.sums);
        }
        Ok(())
    });
    let (end, stop) = Stop::new();
    // Data before the connection is lost.
    client.send(0, Bytes::from_static(b"early"));
    let connecting = tokio::spawn(async move { crate::connect(near, observer, stop).await });
    let exchange = async {
        while questions.is_empty() {
            client.send(7, Bytes::from_static(b"question"));
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(questions.recv().await, Some((7, b"question".to_vec())));
        server.send(7, Bytes::from_static(b"answer"));
        assert_eq!(answers.recv().await, Some((7, b"answer".to_vec())));
        client.send(63, Bytes::new());
        loop {
            let sums = sums.recv().await.expect("figures");
            let lost = sums.to_peer.lost;
            if lost[crate::Reason::Undeliverable] == 1 {
                assert!(lost[crate::Reason::Unconnected] >= 1, "{}", sums.to_peer);
                break;
            }
        }
    };
    timeout(Duration::from_secs(60), exchange).await.expect("it goes on");
    end.send_replace(true);
    connecting.await.expect("no panic").expect("it is stopped");
    listening.await.expect("no panic").expect("its only connection has ended");
}

#[test]
fn what_a_program_says_of_a_port_is_kept() {
    let sends = Sends::each();
    let all = Codec::ALL.map(Payload::Video);
    for payload in [Payload::Rtp, Payload::Unknown].into_iter().chain(all) {
        sends.set(3, payload);
        assert_eq!((sends.of(3), sends.of(4)), (payload, Payload::Unknown));
    }
    // No such port exists.
    sends.set(u8::MAX, Payload::Rtp);
    assert_eq!(sends.of(u8::MAX), Payload::Unknown);
}
