//! The end of a connection (RFC 4340, Section 8.3), or its state at the end of the capture.

use serde::Serialize;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Kind, Reset, ResetCode};

use super::handshake::Handshake;
use super::side::Side;
use crate::names;

/// Kind of the end of a connection, or its state at the end of the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// Closed by Close and a Reset with code Closed.
    Closed,
    /// Closed by a Reset with another code or without a Close.
    Reset,
    /// Close or CloseReq was not answered.
    Closing,
    /// Requests were not answered.
    Unanswered,
    /// The Response was not answered.
    HalfOpen,
    /// No packets were captured for a long time.
    Idle,
    /// The connection was active when the capture ended.
    CaptureEnded,
}

/// The end of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct End {
    /// Kind of the end.
    pub kind: EndKind,
    /// The end that closed it: the sender of the first Close or CloseReq or, without one, of the Reset.
    pub by: Option<Side>,
    /// Number in the capture of the packet that closed it.
    pub packet: Option<u64>,
    /// The Reset Code.
    pub reset_code: Option<u8>,
    /// The Reset's Data 1 to 3.
    pub reset_data: Option<[u8; 3]>,
    /// Description of the end.
    pub reason: String,
}

/// A packet related to the end.
#[derive(Clone, Copy, Debug)]
struct Mark {
    by: Side,
    packet: u64,
}

/// Packets related to the end captured so far.
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

    /// `true` if a Reset was captured.
    pub(crate) fn is_over(&self) -> bool {
        self.reset.is_some()
    }

    /// Determines the end, for a capture that ended `quiet` after the connection's last packet. A silence of
    /// `idle_timeout` makes it idle.
    pub(crate) fn end_state(
        &self,
        handshake: &Handshake,
        opened: bool,
        quiet: Duration,
        idle_timeout: Duration,
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
        let seconds = crate::names::seconds(quiet);
        if !opened && handshake.requests > 0 && handshake.responses == 0 {
            let times = handshake.requests;
            let times = if times == 1 { "one Request".into() } else { format!("{times} Requests") };
            return end(EndKind::Unanswered, None, format!("{times} of the client, without an answer"));
        }
        if !opened && handshake.responses > 0 {
            let reason = "the server's Response was not answered: half open".into();
            return end(EndKind::HalfOpen, None, reason);
        }
        if quiet >= idle_timeout {
            let reason = format!("no packets of either end in the last {seconds:.1} s of the capture");
            return end(EndKind::Idle, None, reason);
        }
        end(EndKind::CaptureEnded, None, "the capture ended; the connection was active".into())
    }

    fn after_reset(&self, mark: Mark, reset: Reset) -> End {
        let normal = reset.code == ResetCode::Closed;
        let asked = self.close_req.or(self.close).filter(|_| normal);
        let name = names::reset_code_name(reset.code);
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
                names::reset_description(reset)
            ),
            (_, None) => format!("the {who} {} (Reset, {name})", names::reset_description(reset)),
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

/// Time without packets of a connection at the end of the capture.
pub(crate) fn quiet(last: Instant, end: Instant) -> Duration {
    end.saturating_since(last)
}
