//! The session of Zenoh.

use anyhow::{Context, Result};
use zenoh::config::{Config, EndPoint};
use zenoh::key_expr::OwnedKeyExpr;
use zenoh::sample::Locality;
use zenoh::{Error, Session};

use crate::args::Arguments;
use crate::message::Sample;

/// Opens the session.
pub(crate) async fn open(arguments: &Arguments) -> Result<Session> {
    let mut config = Config::default();
    let mut set =
        |key: &str, value: &serde_json::Value| config.insert_json5(key, &value.to_string()).map_err(foreign);
    if !arguments.connect.is_empty() || !arguments.listen.is_empty() {
        set("scouting/multicast/enabled", &false.into())?;
        set("connect/endpoints", &list(&arguments.connect))?;
        // By default, a session listens at a port of all addresses.
        set("listen/endpoints", &list(&arguments.listen))?;
    }
    zenoh::open(config).await.map_err(foreign).context("the session of Zenoh")
}

fn list(endpoints: &[EndPoint]) -> serde_json::Value {
    endpoints.iter().map(ToString::to_string).collect()
}

/// Calls `take` with each sample from elsewhere whose key matches one of the expressions.
pub(crate) async fn subscribe<F>(session: &Session, keys: &[OwnedKeyExpr], take: F) -> Result<()>
where
    F: Fn(&zenoh::sample::Sample) + Clone + Send + Sync + 'static,
{
    for (at, key) in keys.iter().enumerate() {
        let (earlier, take) = (keys[..at].to_vec(), take.clone());
        session
            .declare_subscriber(key)
            // Samples of this session would go back to the relay, and so on without end. The locality is
            // stable, needs no memory, and a program that puts the same value again is still heard. The
            // source of a sample is unstable, and only there if a program has set it.
            .allowed_origin(Locality::Remote)
            .callback(move |sample| {
                // Expressions may overlap: Zenoh calls each subscriber, and the first one sends.
                if !earlier.iter().any(|earlier| earlier.intersects(sample.key_expr())) {
                    take(&sample);
                }
            })
            .background()
            .await
            .map_err(foreign)
            .with_context(|| format!("--key {key}"))?;
    }
    Ok(())
}

/// Puts or deletes in the session.
pub(crate) async fn put(session: &Session, sample: &Sample<'_>) -> Result<()> {
    let attachment = sample.attachment;
    let done = match sample.is_deletion {
        true => session.delete(sample.key).attachment(attachment).await,
        false => {
            session.put(sample.key, sample.payload).encoding(sample.encoding).attachment(attachment).await
        }
    };
    done.map_err(foreign)
}

/// Ends the session.
pub(crate) async fn close(session: &Session) -> Result<()> {
    session.close().await.map_err(foreign)
}

fn foreign(error: Error) -> anyhow::Error {
    anyhow::Error::from_boxed(error)
}
