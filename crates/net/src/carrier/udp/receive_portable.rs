//! Reception from a UDP socket without the kernel's timestamps.

use std::io::{self, IoSliceMut};

use noq_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use whimbrel_wire::Ecn;

use super::Received;

/// State of reception besides the socket: none here.
#[derive(Debug)]
pub(super) struct Receiver;

impl Receiver {
    pub(super) fn new<S>(_socket: &S) -> Self {
        Self
    }

    /// Receives by one system call.
    pub(super) fn receive<'a, S>(
        &mut self,
        socket: &'a S,
        state: &UdpSocketState,
        buffer: &mut [u8],
    ) -> io::Result<Received>
    where
        &'a S: Into<UdpSockRef<'a>>,
    {
        let mut meta = [RecvMeta::default()];
        state.recv(socket.into(), &mut [IoSliceMut::new(buffer)], &mut meta)?;
        let [meta] = meta;
        Ok(Received {
            remote: meta.addr,
            length: meta.len,
            stride: meta.stride,
            ecn: meta.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::from_bits(codepoint as u8)),
            to: meta.dst_ip,
            stamp: meta.timestamp,
        })
    }
}
