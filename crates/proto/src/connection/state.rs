//! States of a connection (RFC 4340, Section 4.3).

use core::fmt;

/// Role of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that sent the Request.
    Client,
    /// The end that answered it.
    Server,
}

/// The states of RFC 4340, Section 4.3, and RFC 5596, Section 2.2.2. They print as the RFC writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum State {
    Closed,
    Listen,
    /// Of RFC 5596: the server sends Listen packets.
    Invited,
    /// Of RFC 5596: the server has sent them and waits for the Request.
    Listen1,
    Request,
    Respond,
    PartOpen,
    Open,
    CloseReq,
    Closing,
    TimeWait,
}

impl State {
    /// "S.state >= OPEN" of RFC 4340, Section 8.5: the handshake is complete at both ends.
    pub const fn is_at_least_open(self) -> bool {
        matches!(self, Self::Open | Self::CloseReq | Self::Closing | Self::TimeWait)
    }

    /// `true` if application data may be sent in this state. A client in REQUEST and a server in RESPOND may
    /// only send them with the handshake packets.
    pub const fn may_send_data(self) -> bool {
        matches!(self, Self::PartOpen | Self::Open)
    }

    /// `true` if the peer's sequence numbers are known and the connection is not over.
    pub const fn is_synchronized(self) -> bool {
        matches!(self, Self::Respond | Self::PartOpen | Self::Open | Self::CloseReq | Self::Closing)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::Invited => "INVITED",
            Self::Listen1 => "LISTEN1",
            Self::Request => "REQUEST",
            Self::Respond => "RESPOND",
            Self::PartOpen => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq => "CLOSEREQ",
            Self::Closing => "CLOSING",
            Self::TimeWait => "TIMEWAIT",
        })
    }
}
