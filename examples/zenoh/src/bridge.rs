//! Samples become datagrams, and datagrams become samples.

use std::future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use zenoh::Session;
use zenoh::sample::SampleKind;

use crate::args::Arguments;
use crate::message::{GREETING, LONGEST, Message, Sample};
use crate::network;
use crate::port::Port;
use crate::report::{Tally, say};

/// After this time without a datagram, the relay is greeted again: the other end may be a new one.
const SILENCE: Duration = Duration::from_secs(2);
/// The pause after a socket's error.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs until the signal to end.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let port = Arc::new(Port::open(&arguments.end)?);
    let session = network::open(arguments).await?;
    let unsent = Arc::new(Tally::new("samples not sent"));
    let (to, lost) = (port.clone(), unsent.clone());
    network::subscribe(&session, &arguments.keys, move |sample| {
        if let Err(error) = send(&to, sample) {
            lost.add(&error);
        }
    })
    .await?;
    say(format_args!("ready at UDP {}", port.address()?));

    let (ignored, mut put) = (Tally::new("datagrams ignored"), 0);
    tokio::select! {
        () = receive(&port, &session, [&ignored, &unsent], &mut put) => {}
        () = greet(&port) => {}
        ended = tokio::signal::ctrl_c() => ended.context("SIGINT")?,
    }
    network::close(&session).await?;
    say(format_args!(
        "{} datagrams sent, {} samples not sent; {put} samples put, {} datagrams ignored",
        port.sent(),
        unsent.total(),
        ignored.total()
    ));
    Ok(())
}

fn send(port: &Port, sample: &zenoh::sample::Sample) -> Result<()> {
    let (payload, attachment) = (sample.payload().to_bytes(), sample.attachment().map(|all| all.to_bytes()));
    let datagram = Sample {
        key: sample.key_expr(),
        payload: &payload,
        encoding: &sample.encoding().to_string(),
        attachment: attachment.as_deref(),
        is_deletion: sample.kind() == SampleKind::Delete,
    }
    .encode()?;
    port.send(sample.key_expr(), datagram)
}

async fn receive(port: &Port, session: &Session, [ignored, unsent]: [&Tally; 2], put: &mut u64) {
    // A longer one over IPv6 is seen to be too long.
    let mut buffer = vec![0; LONGEST + 1];
    loop {
        let (datagram, from) = match port.receive(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                // A relay that does not run yet is no reason to end.
                let is_refused = error
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
                if !is_refused {
                    ignored.add(&error);
                }
                // The error may last.
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let message = match Message::decode(datagram) {
            Ok(message) => message,
            Err(error) => {
                ignored.add(&error);
                continue;
            }
        };
        port.answer_to(from).iter().for_each(|error| unsent.add(error));
        if let Message::Sample(sample) = message {
            match network::put(session, &sample).await {
                Ok(()) => *put += 1,
                Err(error) => ignored.add(&error),
            }
        }
    }
}

/// Tells the other end, which cannot know it before, where this one is.
async fn greet(port: &Port) {
    if !port.is_connected() {
        future::pending::<()>().await;
    }
    loop {
        // A relay that does not run yet is greeted later.
        let _ = port.greet(&GREETING);
        loop {
            let before = port.sent();
            tokio::time::sleep(SILENCE).await;
            if before == port.sent() {
                break;
            }
        }
    }
}
