//! The handshake of a connection (RFC 4340, Section 8.1).

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Kind, Packet, SeqNo, ServiceCode};

use super::side::Side;

/// Maximum number of Requests, and of Responses, kept to match the answers.
const MOST: usize = 8;

/// State of the handshake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) requests: u64,
    pub(crate) responses: u64,
    pub(crate) service_code: Option<ServiceCode>,
    pub(crate) started: Option<Instant>,
    pub(crate) completed: Option<Instant>,
    pub(crate) request_data: usize,
    /// Round-trip time from the capture point to the server.
    pub(crate) to_server: Option<Duration>,
    /// Round-trip time from the capture point to the client.
    pub(crate) to_client: Option<Duration>,
    sent_requests: VecDeque<(SeqNo, Instant)>,
    sent_responses: VecDeque<(SeqNo, Instant)>,
}

impl Handshake {
    pub(crate) fn on_packet(&mut self, by: Side, at: Instant, packet: &Packet) {
        match (by, packet.kind) {
            (Side::Client, Kind::Request { service_code }) => {
                self.requests += 1;
                self.started.get_or_insert(at);
                self.service_code.get_or_insert(service_code);
                self.request_data = packet.payload.len();
                remember(&mut self.sent_requests, packet.sequence, at);
            }
            (Side::Server, Kind::Response { ack, service_code }) => {
                self.responses += 1;
                self.started.get_or_insert(at);
                self.service_code.get_or_insert(service_code);
                if self.to_server.is_none() {
                    self.to_server = since(&self.sent_requests, ack, at);
                }
                remember(&mut self.sent_responses, packet.sequence, at);
            }
            (Side::Client, kind) if self.responses > 0 && self.completed.is_none() => {
                let Some(ack) = kind.ack() else { return };
                if !matches!(kind, Kind::Reset { .. }) && !self.sent_responses.is_empty() {
                    self.completed = Some(at);
                    self.to_client = since(&self.sent_responses, ack, at);
                }
            }
            _ => {}
        }
    }

    /// `true` if a Request with this number belongs to the handshake, as the first or as a retransmission.
    pub(crate) fn admits_request(&self, sequence: SeqNo) -> bool {
        match self.sent_requests.back() {
            // Retransmissions have greater sequence numbers, and there are fewer than a thousand.
            Some((last, _)) => self.completed.is_none() && (0..1000).contains(&sequence.distance_from(*last)),
            None => self.responses == 0,
        }
    }

    /// The total round-trip time, if both parts are known.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        Some(self.to_server? + self.to_client?)
    }
}

fn remember(list: &mut VecDeque<(SeqNo, Instant)>, sequence: SeqNo, at: Instant) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back((sequence, at));
}

fn since(list: &VecDeque<(SeqNo, Instant)>, ack: SeqNo, at: Instant) -> Option<Duration> {
    list.iter().find(|(sequence, _)| *sequence == ack).map(|(_, sent)| at.saturating_since(*sent))
}
