//! How a connection ends (RFC 4340, Section 8.3), or why it does not.

use serde::Serialize;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Kind, Reset, ResetCode};

use super::handshake::Handshake;
use super::side::Side;
use crate::words;

/// Why a connection ended, or in what state the capture left it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// By Close and a Reset with code Closed.
    Closed,
    /// By a Reset, for another reason or without a Close.
    Reset,
    /// Close or CloseReq have not been answered.
    Closing,
    /// Requests have not been answered.
    Unanswered,
    /// The Response has not been answered.
    HalfOpen,
    /// It has been silent for long.
    Idle,
    /// It was alive when the capture ended.
    CaptureEnded,
}

/// Why a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct End {
    /// Why.
    pub kind: EndKind,
    /// Who ended it: the sender of the first Close or CloseReq or, without one, of the Reset.
    pub by: Option<Side>,
    /// The packet that did: its number in the capture.
    pub packet: Option<u64>,
    /// The Reset Code.
    pub reset_code: Option<u8>,
    /// The Reset's Data 1 to 3.
    pub reset_data: Option<[u8; 3]>,
    /// In words.
    pub reason: String,
}

/// A packet that has to do with the end.
#[derive(Clone, Copy, Debug)]
struct Mark {
    by: Side,
    packet: u64,
}

/// What has been seen of the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    close_req: Option<Mark>,
    close: Option<Mark>,
    reset: Option<(Mark, Reset)>,
}

impl Ending {
    pub(crate) fn on_packet(&mut self, by: Side, packet: u64, kind: Kind) {
        let mark = Mark { by, packet };
        match kind {
            Kind::CloseReq { .. } if self.close_req.is_none() => self.close_req = Some(mark),
            Kind::Close { .. } if self.close.is_none() => self.close = Some(mark),
            Kind::Reset { reset, .. } if self.reset.is_none() => self.reset = Some((mark, reset)),
            _ => {}
        }
    }

    /// Whether a Reset has been seen.
    pub(crate) fn is_over(&self) -> bool {
        self.reset.is_some()
    }

    /// The verdict, when the capture has ended `quiet` after the connection's last packet. `patience`: how long a
    /// silence makes it idle.
    pub(crate) fn verdict(
        &self,
        handshake: &Handshake,
        opened: bool,
        quiet: Duration,
        patience: Duration,
    ) -> End {
        if let Some((mark, reset)) = self.reset {
            return self.after_reset(mark, reset);
        }
        let end = |kind, mark: Option<Mark>, reason| End {
            kind,
            by: mark.map(|mark| mark.by),
            packet: mark.map(|mark| mark.packet),
            reset_code: None,
            reset_data: None,
            reason,
        };
        if let Some(mark) = self.close_req.or(self.close) {
            let what = if self.close_req.is_some() && self.close.is_none() { "CloseReq" } else { "Close" };
            let by = if what == "Close" { self.close.unwrap_or(mark).by } else { mark.by };
            let reason = format!("the {} sent {what}; no answer was captured", by.name());
            return end(EndKind::Closing, Some(mark), reason);
        }
        let seconds = crate::report::seconds(quiet);
        if !opened && handshake.requests > 0 && handshake.responses == 0 {
            let times = handshake.requests;
            let times = if times == 1 { "one Request".into() } else { format!("{times} Requests") };
            return end(EndKind::Unanswered, None, format!("{times} of the client, and no answer"));
        }
        if !opened && handshake.responses > 0 {
            let reason = "the server's Response was not answered: half open".into();
            return end(EndKind::HalfOpen, None, reason);
        }
        if quiet >= patience {
            let reason = format!("neither end said anything in the last {seconds:.1} s of the capture");
            return end(EndKind::Idle, None, reason);
        }
        end(EndKind::CaptureEnded, None, "the capture ended; the connection was alive".into())
    }

    fn after_reset(&self, mark: Mark, reset: Reset) -> End {
        let normal = reset.code == ResetCode::Closed;
        let asked = self.close_req.or(self.close).filter(|_| normal);
        let name = words::reset_code_name(reset.code);
        let who = mark.by.name();
        let reason = match (self.close_req, self.close) {
            (Some(asked), Some(close)) if normal => format!(
                "the {} asked to close (CloseReq), the {} sent Close, the {who} answered with Reset ({name})",
                asked.by.name(),
                close.by.name(),
            ),
            (None, Some(close)) if normal => {
                format!("the {} sent Close, the {who} answered with Reset ({name})", close.by.name())
            }
            (_, Some(close)) => format!(
                "after a Close of the {}, the {who} {} (Reset, {name})",
                close.by.name(),
                words::reset(reset)
            ),
            (_, None) => format!("the {who} {} (Reset, {name})", words::reset(reset)),
        };
        End {
            kind: if asked.is_some() { EndKind::Closed } else { EndKind::Reset },
            by: Some(asked.unwrap_or(mark).by),
            packet: Some(asked.unwrap_or(mark).packet),
            reset_code: Some(reset.code.into()),
            reset_data: Some(reset.data),
            reason,
        }
    }
}

/// How long a connection had been silent when the capture ended.
pub(crate) fn quiet(last: Instant, end: Instant) -> Duration {
    end.saturating_since(last)
}
