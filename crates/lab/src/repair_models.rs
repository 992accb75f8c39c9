//! Models of programs and proposals that repair lost datagrams, by their own rules.
//!
//! Each is a pair of ends without I/O: the sending end turns datagrams into messages, the receiving end turns
//! messages into delivered datagrams and requests. Codes are ideal: as many coded packets as are missing
//! restore them, which favours the rival where it uses XOR.
//!
//! - [`srt`]: SRT in live mode;
//! - [`rist`]: RIST as librist implements it;
//! - [`nack`]: libwebrtc's requests;
//! - [`fec_rate`]: libwebrtc's share of parity;
//! - [`blocks`]: the blocks of wfb-ng;
//! - [`tambur`]: Tambur's streaming code;
//! - [`hairpin`]: Hairpin's choice of coded packets for each round.

pub mod blocks;
pub mod fec_rate;
pub mod hairpin;
pub mod history;
pub mod loss_reports;
pub mod nack;
pub mod probing;
pub mod rist;
pub mod solver;
pub mod srt;
pub mod tambur;

use std::fmt;
use std::sync::Arc;

use whimbrel_units::{Duration, Instant};

use crate::metrics::FramePart;

/// A datagram of the application.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Datagram {
    /// Its number, from 0, without gaps.
    pub number: u64,
    /// Its place in its frame.
    pub part: FramePart,
    /// Bytes of application data.
    pub size: u32,
    /// The time at which it was handed over.
    pub captured: Instant,
}

/// Message to the other end.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// A datagram, for the first time or again.
    Data {
        /// The datagram.
        datagram: Datagram,
        /// `true` if it was sent before.
        is_repeat: bool,
    },
    /// A coded packet: one equation in consecutive datagrams.
    Parity {
        /// The datagrams, in order.
        members: Arc<[Datagram]>,
        /// Bytes of coded data.
        size: u32,
    },
    /// A request for datagrams, by their numbers in ascending order.
    Request(Vec<u64>),
    /// The lost share of the datagrams of the last time, 0 to 1.
    Loss(f64),
    /// A message that the other end echoes, with the round-trip time known so far.
    Probe {
        /// The time at which it was sent.
        sent: Instant,
        /// The round-trip time and its variation.
        rtt: Option<(Duration, Duration)>,
    },
    /// The echo of a probe.
    Echo {
        /// The time at which the probe was sent.
        sent: Instant,
    },
}

/// Bytes of a message without data, and of a range of numbers in a request.
const CONTROL: u32 = 16;
const RANGE: u32 = 8;

impl Message {
    /// Its bytes, without the header of a datagram.
    pub fn length(&self) -> u32 {
        match self {
            Self::Data { datagram, .. } => datagram.size,
            Self::Parity { size, .. } => *size,
            Self::Request(numbers) => {
                let follows = |pair: &&[u64]| pair[0] + 1 == pair[1];
                let ranges = numbers.len() - numbers.windows(2).filter(follows).count();
                CONTROL + RANGE * ranges as u32
            }
            Self::Loss(_) | Self::Probe { .. } | Self::Echo { .. } => CONTROL,
        }
    }
}

/// Output of an end.
#[derive(Debug, Default)]
pub struct Output {
    /// Messages for the other end.
    pub messages: Vec<Message>,
    /// Datagrams for the application.
    pub delivered: Vec<Datagram>,
}

/// One end of a model. A sending end takes datagrams, a receiving end delivers them.
pub trait End: fmt::Debug + Send {
    /// The application hands over a datagram.
    fn send(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        let _ = (now, datagram, out);
    }

    /// A message arrived.
    fn handle(&mut self, now: Instant, message: Message, out: &mut Output);
    /// The time of [`next`](Self::next) was reached.
    fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        let _ = (now, out);
    }

    /// The time at which the end wants to be called.
    fn next(&self) -> Option<Instant> {
        None
    }
}

/// The ends of a model: the sending and the receiving one.
pub type Ends = [Box<dyn End>; 2];

/// An end that sends each datagram once, or delivers what arrives.
#[derive(Debug)]
pub struct Plain;

impl End for Plain {
    fn send(&mut self, _: Instant, datagram: Datagram, out: &mut Output) {
        out.messages.push(Message::Data { datagram, is_repeat: false });
    }

    fn handle(&mut self, _: Instant, message: Message, out: &mut Output) {
        if let Message::Data { datagram, .. } = message {
            out.delivered.push(datagram);
        }
    }
}

#[cfg(test)]
mod support;
