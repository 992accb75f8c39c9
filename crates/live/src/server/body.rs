//! The content of an answer: a text, or events without an end.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::feed::Feed;

/// The content of an answer.
#[derive(Debug)]
pub(super) enum Content {
    /// A text, once.
    Text(Option<Bytes>),
    /// Events, as a reader takes them.
    Events(mpsc::Receiver<Bytes>),
}

impl Content {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Some(Bytes::from(text.into())))
    }

    /// The events of a feed. One is made when the one before was taken: a reader that stops holds one, and
    /// then gets all that it has missed as one.
    pub(super) fn events(feed: Feed) -> Self {
        let (events, taken) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut changes = feed.changes();
            let mut known = None;
            loop {
                let Ok(place) = events.reserve().await else { return };
                changes.borrow_and_update();
                if let Some(event) = feed.event(&mut known) {
                    place.send(Bytes::from(event));
                    continue;
                }
                drop(place);
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    () = events.closed() => return,
                }
            }
        });
        Self::Events(taken)
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Events(events) => {
                events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Events(_) => SizeHint::default(),
        }
    }
}
