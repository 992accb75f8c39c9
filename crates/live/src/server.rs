//! The HTTP server: the page, its events, and what else a program serves.
//!
//! At an address that other hosts can reach, a request has to show a token. A page of a web site must not
//! read the state through a browser of this host or its network: a request has to name this server by an
//! address or by a name that no site of the web has, which a site's name that resolves to it is not (DNS
//! rebinding), and a request on behalf of another origin is refused. Only POST and DELETE change anything,
//! where a program takes them ([`Pages::takes`]). A client that is slow only loses its own place: events are
//! made when it takes them.

mod body;

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Buf;
pub use hyper::StatusCode;
use hyper::body::Body;
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HOST, HeaderValue, LOCATION, ORIGIN,
    REFERRER_POLICY, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::accept::{Places, accept};
use crate::document::live_page;
use crate::feed::Feed;
use crate::token::Token;
use body::Content;

/// Clients at a time, the time for the head of a request, the time that each client has for all of its
/// requests, and the time of a client that takes events, which then connects again.
const MAX_CLIENTS: usize = 16;
const HEAD_TIME: Duration = Duration::from_secs(5);
const CLIENT_TIME: Duration = Duration::from_secs(30);
const EVENT_TIME: Duration = Duration::from_secs(600);
/// The most bytes of a request's body.
const MAX_BODY: usize = 64 << 10;
/// Top-level domains of local networks, which public DNS does not have (RFC 6762, Section 3 and Appendix G).
const PRIVATE: [&str; 8] = ["local", "internal", "lan", "home", "corp", "private", "intranet", "localdomain"];
/// Types of the pages.
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const EVENTS: &str = "text/event-stream";
const TEXT: &str = "text/plain; charset=utf-8";

/// Content served in addition to the page.
pub trait Pages: Send + Sync + 'static {
    /// The state as JSON: `/`, for clients that do not ask for HTML.
    fn state(&self) -> serde_json::Value;
    /// The type and the text of another path.
    fn page(&self, path: &str) -> Option<(&'static str, String)> {
        let _ = path;
        None
    }

    /// The paths for which [`page`](Self::page) has one.
    fn paths(&self) -> &'static [&'static str] {
        &[]
    }

    /// The path at which [`change`](Self::change) takes a POST, and below which a DELETE.
    fn takes(&self) -> Option<&'static str> {
        None
    }

    /// Changes something, for a client that may.
    fn change(&self, asked: &Asked) -> Changed {
        let _ = asked;
        Changed::Refused(StatusCode::NOT_FOUND, "there is nothing to change\n".into())
    }
}

/// A request that changes something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The rest of the path of a DELETE; `None` for a POST.
    pub removes: Option<String>,
    /// The body.
    pub body: String,
    /// The address of this host at which the request has arrived, with its zone and without a port.
    pub at: SocketAddr,
    /// The client's address.
    pub from: IpAddr,
}

/// Result of a request that changes something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Changed {
    /// Something is new: its path, and the type and text of the answer.
    Created(String, &'static str, String),
    /// The change was made.
    Done,
    /// The change cannot be made, for this reason.
    Refused(StatusCode, String),
}

/// The state of a program that has no other is the recording.
impl Pages for Feed {
    fn state(&self) -> serde_json::Value {
        self.json()
    }
}

/// Address of a page. `Display` writes its URL, with the token if it was generated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// The address.
    pub address: SocketAddr,
    token: Option<Token>,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.token.as_ref().map(Token::query).unwrap_or_default();
        write!(f, "http://{}/{query}", self.address)
    }
}

/// Serves the page from now on: to those who show the `chosen` token; without one to everybody at a loopback
/// address, and at another one to those who show a new token.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve(
    at: SocketAddr,
    feed: Feed,
    pages: impl Pages,
    chosen: Option<Token>,
) -> anyhow::Result<Served> {
    let is_open = chosen.is_some() || at.ip().to_canonical().is_loopback();
    let made = if is_open { None } else { Some(Token::new()?) };
    let served = made.clone();
    let token = chosen.or(made);
    let listener = TcpListener::bind(at).await.with_context(|| format!("HTTP at TCP {at}"))?;
    let local = listener.local_addr()?;
    let places = Places::new(MAX_CLIENTS);
    let pages = Arc::new(pages);
    tokio::spawn(async move {
        loop {
            let (stream, peer) = accept(&listener).await;
            let at = without_port(stream.local_addr().unwrap_or(local));
            let mut place = places.take(peer.ip());
            let (feed, pages, token) = (feed.clone(), pages.clone(), token.clone());
            tokio::spawn(async move {
                let takes_events = AtomicBool::new(false);
                let service = service_fn(|request| {
                    let (token, feed, pages, takes_events) = (token.as_ref(), &feed, &*pages, &takes_events);
                    async move {
                        let answer = answer(request, token, feed, pages, (at, peer.ip())).await;
                        if answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == EVENTS) {
                            takes_events.store(true, Ordering::Relaxed);
                        }
                        Ok::<_, Infallible>(answer)
                    }
                });
                let serving = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIME)
                    .serve_connection(TokioIo::new(stream), service);
                let mut serving = std::pin::pin!(serving);
                let bounded = async {
                    if timeout(CLIENT_TIME, &mut serving).await.is_err()
                        && takes_events.load(Ordering::Relaxed)
                    {
                        let _ = timeout(EVENT_TIME, serving).await;
                    }
                };
                tokio::select! {
                    () = bounded => {}
                    () = place.taken() => {}
                }
            });
        }
    });
    Ok(Served { address: local, token: served })
}

/// Serves the page from a thread of its own, for programs without a runtime.
///
/// # Errors
/// The address cannot be bound, or there is no thread.
pub fn spawn(at: SocketAddr, feed: Feed, pages: impl Pages) -> anyhow::Result<Served> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(at, feed, pages, None))?;
    std::thread::Builder::new()
        .name("live page".into())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(served)
}

/// An address with port 0 and its zone; an IPv4-mapped address as an IPv4 address.
fn without_port(mut at: SocketAddr) -> SocketAddr {
    match at.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, 0),
        IpAddr::V6(_) => {
            at.set_port(0);
            at
        }
    }
}

async fn answer<B: Body + Unpin>(
    mut request: Request<B>,
    token: Option<&Token>,
    feed: &Feed,
    pages: &dyn Pages,
    (at, from): (SocketAddr, IpAddr),
) -> Response<Content> {
    let is_shown = token.is_none_or(|token| token.is_shown(request.uri(), request.headers()));
    let changes = pages.takes().and_then(|place| place_of_change(&request, place));
    let mut location = None;
    let (code, kind, content) = if let Some((code, reason)) = objection(request.uri(), request.headers()) {
        (code, TEXT, Content::text(reason))
    } else if !is_shown {
        let text = "expected the token of the address that the program has printed at its start: ?token=TOKEN, or a bearer token\n";
        (StatusCode::UNAUTHORIZED, TEXT, Content::text(text))
    } else if let Some(removes) = changes {
        match text_of(request.body_mut()).await {
            Some(body) => match pages.change(&Asked { removes, body, at, from: from.to_canonical() }) {
                Changed::Created(place, kind, text) => {
                    location = HeaderValue::try_from(place).ok();
                    (StatusCode::CREATED, kind, Content::text(text))
                }
                Changed::Done => (StatusCode::OK, TEXT, Content::text("")),
                Changed::Refused(code, text) => (code, TEXT, Content::text(text)),
            },
            None => {
                let text = format!("expected {MAX_BODY} bytes of UTF-8 at most\n");
                (StatusCode::PAYLOAD_TOO_LARGE, TEXT, Content::text(text))
            }
        }
    } else if request.method() != Method::GET && request.method() != Method::HEAD {
        (StatusCode::METHOD_NOT_ALLOWED, TEXT, Content::text("only GET and HEAD\n"))
    } else {
        content(&request, feed, pages)
    };
    // hyper sends the length of the body in answer to HEAD, and not the body.
    let mut response = Response::new(content);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if code == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    if let Some(location) = location {
        headers.insert(LOCATION, location);
    }
    if code == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if code == StatusCode::OK && request.uri().path() == RECORDING {
        let value = HeaderValue::from_static("attachment; filename=\"recording.html\"");
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// Change requested at `place`: `None` for nothing, the object to remove for a DELETE.
fn place_of_change<B>(request: &Request<B>, place: &str) -> Option<Option<String>> {
    let rest = request.uri().path().strip_prefix(place)?;
    match *request.method() {
        Method::POST => rest.is_empty().then_some(None),
        Method::DELETE => Some(Some(rest.strip_prefix('/')?.to_owned())),
        _ => None,
    }
}

/// The body of a request; `None` if it is too long, or no text.
async fn text_of(body: &mut (impl Body + Unpin)) -> Option<String> {
    let mut text = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        let Ok(mut data) = frame.ok()?.into_data() else { continue };
        if text.len() + data.remaining() > MAX_BODY {
            return None;
        }
        text.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    String::from_utf8(text).ok()
}

/// The path of the recording so far as a file.
const RECORDING: &str = "/recording.html";

/// Code, type and content of a path.
fn content<B>(request: &Request<B>, feed: &Feed, pages: &dyn Pages) -> (StatusCode, &'static str, Content) {
    let path = request.uri().path();
    match path {
        "/" if asks_for_html(request.headers()) => (StatusCode::OK, HTML, Content::text(live_page())),
        "/" => (StatusCode::OK, JSON, Content::text(pages.state().to_string())),
        "/events" if request.method() == Method::HEAD => (StatusCode::OK, EVENTS, Content::text("")),
        "/events" => (StatusCode::OK, EVENTS, Content::events(feed.clone())),
        RECORDING => (StatusCode::OK, HTML, Content::text(feed.document())),
        _ => match pages.page(path) {
            Some((kind, text)) => (StatusCode::OK, kind, Content::text(text)),
            None => {
                let known = ["/", "/events", RECORDING].iter().chain(pages.paths());
                let known: Vec<&str> = known.copied().collect();
                (StatusCode::NOT_FOUND, TEXT, Content::text(format!("there are {}\n", known.join(", "))))
            }
        },
    }
}

/// `true` for a browser: programs, which get the state as JSON, do not name HTML.
fn asks_for_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or("");
    accepted.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
}

/// The reason for refusing a request by the names in it, if any.
fn objection(uri: &Uri, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let host = headers.get(HOST).map(|host| host.to_str().ok()?.parse::<Authority>().ok());
    // A request line may have an authority, which takes precedence over the header's (RFC 9112, Section
    // 3.2.2).
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

/// `true` if no site of the web has that name in the eyes of a browser: an address, a name without a dot, one
/// of a domain that the public DNS does not have, or this host's name.
fn is_own(name: &str) -> bool {
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if literal.parse::<IpAddr>().is_ok() {
        return true;
    }
    match name.rsplit_once('.') {
        None => !name.is_empty(),
        Some((_, last)) => PRIVATE.contains(&last) || name.ends_with(".home.arpa") || name == host_name(),
    }
}

/// This host's name, in lower case.
fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    name.to_ascii_lowercase()
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
        let own = host_name();
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
