//! Flows, and the header that names them on a connection.
//!
//! Datagrams that belong together are a *flow*. At the near end, a flow is what one program sends at one
//! port, and has a number on the connection; the far end sends the datagrams with that number from a socket
//! of its own, so that answers find their way back.

use bytes::{BufMut, Bytes, BytesMut};

/// Bytes that precede a datagram on the connection: the port's number, and the flow's at this port.
pub(crate) const HEADER: usize = 2;
/// The most ports of a connection.
pub const MAX_PORTS: usize = 64;
/// The most flows of a connection.
pub const MAX_FLOWS: usize = 255;

/// A flow: the port's number, and its own at this port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Flow {
    pub(crate) port: u8,
    pub(crate) number: u8,
}

impl Flow {
    /// One number for both.
    pub(crate) fn id(self) -> u16 {
        u16::from_be_bytes([self.port, self.number])
    }

    /// A datagram with the header of the connection.
    pub(crate) fn wrap(self, payload: &[u8]) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEADER + payload.len());
        bytes.put_slice(&[self.port, self.number]);
        bytes.put_slice(payload);
        bytes.freeze()
    }

    /// Flow and payload of a datagram of the connection; `None` if it has no header.
    pub(crate) fn unwrap(mut datagram: Bytes) -> Option<(Self, Bytes)> {
        if datagram.len() < HEADER {
            return None;
        }
        let payload = datagram.split_off(HEADER);
        Some((Self { port: datagram[0], number: datagram[1] }, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_port_and_flow() {
        let flow = Flow { port: 1, number: 7 };
        let datagram = flow.wrap(b"data");
        assert_eq!(datagram[..], *b"\x01\x07data");
        assert_eq!(Flow::unwrap(datagram), Some((flow, Bytes::from_static(b"data"))));
        assert_eq!(Flow::unwrap(flow.wrap(b"")), Some((flow, Bytes::new())));
        assert_eq!(Flow::unwrap(Bytes::from_static(b"x")), None);
    }
}
