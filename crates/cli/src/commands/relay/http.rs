//! The HTTP server of a relay's state: `/`, `/rate` and `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::status::Status;
use crate::accept::accept;

/// Clients at a time, and the time that each has for its requests.
const MAX_CLIENTS: usize = 16;
const CLIENT_TIME: Duration = Duration::from_secs(30);

/// Serves the state from now on. Returns the address.
pub(super) async fn serve(at: SocketAddr, status: Status) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(at).await.with_context(|| format!("HTTP at TCP {at}"))?;
    let local = listener.local_addr()?;
    let room = Arc::new(Semaphore::new(MAX_CLIENTS));
    tokio::spawn(async move {
        loop {
            let Ok(place) = room.clone().acquire_owned().await else { return };
            let (stream, _) = accept(&listener).await;
            let status = status.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let answer = answer(&request, &status);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let _ = timeout(CLIENT_TIME, serving).await;
                drop(place);
            });
        }
    });
    Ok(local)
}

fn answer<B>(request: &Request<B>, status: &Status) -> Response<Full<Bytes>> {
    const JSON: &str = "application/json";
    let (code, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, JSON, status.json().to_string()),
        (&Method::GET, "/rate") => (StatusCode::OK, JSON, status.rate().to_string()),
        (&Method::GET, "/metrics") => (StatusCode::OK, "text/plain; version=0.0.4", status.metrics()),
        (&Method::GET, _) => {
            (StatusCode::NOT_FOUND, "text/plain", "there are /, /rate and /metrics\n".into())
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".into()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store"));
    response
}
