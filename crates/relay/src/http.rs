//! The HTTP server of a relay's state: `/`, `/rate` and `/metrics`.
//!
//! Clients are not authenticated. A page of a web site must not read the state through a browser of this host or its network:
//! a request has to name this server by an address or by a name that no site of the web has, which a site's name that resolves to it
//! is not (DNS rebinding), and a request on behalf of another origin is refused. A client that is slow only loses its own place.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::status::Status;
use crate::accept::{Places, accept};

/// Clients at a time, the time for the head of a request, and the time that each client has for all of its requests.
const MAX_CLIENTS: usize = 16;
const HEAD_TIME: Duration = Duration::from_secs(5);
const CLIENT_TIME: Duration = Duration::from_secs(30);
/// Top-level domains of local networks, which the public DNS does not have (RFC 6762, Section 3 and Appendix G).
const PRIVATE: [&str; 8] = ["local", "internal", "lan", "home", "corp", "private", "intranet", "localdomain"];
/// Types of the pages.
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Serves the state from now on. Returns the address.
pub(super) async fn serve(at: SocketAddr, status: Status) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(at).await.with_context(|| format!("HTTP at TCP {at}"))?;
    let local = listener.local_addr()?;
    let places = Places::new(MAX_CLIENTS);
    tokio::spawn(async move {
        loop {
            let (stream, peer) = accept(&listener).await;
            let mut place = places.take(peer.ip());
            let status = status.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let answer = answer(&request, &status);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let serving = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIME)
                    .serve_connection(TokioIo::new(stream), service);
                tokio::select! {
                    _ = timeout(CLIENT_TIME, serving) => {}
                    () = place.taken() => {}
                }
            });
        }
    });
    Ok(local)
}

fn answer<B>(request: &Request<B>, status: &Status) -> Response<Full<Bytes>> {
    let (code, kind, text) = if let Some((code, reason)) = objection(request.uri(), request.headers()) {
        (code, TEXT, reason.to_owned())
    } else {
        page(request.method(), request.uri().path(), status)
    };
    // hyper sends the length of the body in answer to HEAD, and not the body.
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if code == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

/// A page: its code, type and text.
fn page(method: &Method, path: &str, status: &Status) -> (StatusCode, &'static str, String) {
    if method != Method::GET && method != Method::HEAD {
        return (StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n".into());
    }
    match path {
        "/" => (StatusCode::OK, JSON, status.json().to_string()),
        "/rate" => (StatusCode::OK, JSON, status.rate().to_string()),
        "/metrics" => (StatusCode::OK, "text/plain; version=0.0.4", status.metrics()),
        _ => (StatusCode::NOT_FOUND, TEXT, "there are /, /rate and /metrics\n".into()),
    }
}

/// The reason for refusing a request by the names in it, if any.
fn objection(uri: &Uri, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let host = headers.get(HOST).map(|host| host.to_str().ok()?.parse::<Authority>().ok());
    // A request line may have an authority, which goes before that of the header (RFC 9112, Section 3.2.2).
    let named = uri.authority().cloned().or(host.flatten());
    let Some(named) = named.filter(|named| is_own(named.host())) else {
        return Some((
            StatusCode::MISDIRECTED_REQUEST,
            "expected the address of this server, its host's name, a name without a dot, or one under .lan, .local, .internal or .home.arpa\n",
        ));
    };
    let origin = headers.get(ORIGIN)?;
    let is_same =
        origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")) == Some(named.as_str());
    (!is_same).then_some((StatusCode::FORBIDDEN, "pages of other origins cannot read the state\n"))
}

/// `true` if no site of the web has that name in the eyes of a browser: an address, a name without a dot, one of a domain that the public
/// DNS does not have, or that of this host.
fn is_own(name: &str) -> bool {
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if literal.parse::<IpAddr>().is_ok() {
        return true;
    }
    let own = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
    match name.rsplit_once('.') {
        None => !name.is_empty(),
        Some((_, last)) => PRIVATE.contains(&last) || name.ends_with(".home.arpa") || name == own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(host: Option<&str>, origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().expect("a value"));
            }
        }
        objection(&Uri::from_static("/"), &headers).map_or(200, |(code, _)| code.as_u16())
    }

    #[test]
    fn a_site_of_the_web_does_not_read_the_state_through_a_browser() {
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        for good in
            ["127.0.0.1:9611", "[::1]:9611", "192.0.2.7", "localhost:9611", &own, &format!("{own}.local:1")]
                .into_iter()
                .chain([
                    "camera",
                    "camera.lan:8080",
                    "camera.fritz.lan.",
                    "CAMERA.home.arpa",
                    "a.internal:80",
                ])
        {
            assert_eq!(code(Some(good), None), 200, "{good}");
        }
        for bad in [
            "rebound.example:9611",
            "127.0.0.1.example",
            "localhost.example",
            "a b",
            "",
            ".",
            "camera.lan.example",
            "nothome.arpa",
            "home.arpa",
        ] {
            assert_eq!(code(Some(bad), None), 421, "{bad}");
        }
        assert_eq!(code(None, None), 421);
        assert_eq!(code(Some("127.0.0.1:9611"), Some("http://127.0.0.1:9611")), 200);
        for origin in ["http://rebound.example", "http://127.0.0.1:80", "null", "https://127.0.0.1:9611"] {
            assert_eq!(code(Some("127.0.0.1:9611"), Some(origin)), 403, "{origin}");
        }
    }
}
