//! Handshakes of new connections, with and without state (RFC 4340, Section 8.5, Steps 2 and 3).

use std::collections::{BTreeSet, VecDeque};

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::{DataDroppedBuilder, DropCode};
use whimbrel_wire::{Kind, Packet, PacketType, Reset, ResetCode, SeqNo};

use super::counts::{Admission, SourcePrefix};
use super::init_cookie::{LIFETIME, Remembered, Returned};
use super::initial_sequence::FourTuple;
use super::listeners::Service;
use super::table::{Counted, Entry, SlotState, Table};
use super::{ConnectionHandle, Endpoint, InitCookies, moves};
use crate::connection::has_valid_numbers;
use crate::{Connection, ReceiveMeta, State};

/// The largest ratio of an answer's size to that of the packet answered.
const AMPLIFICATION: usize = 3;
/// Time for which a client may complete the handshake before its place may be given to another: some round-trip times,
/// and a lost Response.
const HALF_OPEN_GRACE: Duration = Duration::from_secs(3);
/// The most used cookies recorded. At more than two thousand new connections per second a cookie may be accepted a
/// second time before it expires.
const MAX_USED: usize = 1 << 16;

/// Init Cookies that have established a connection: an old packet must not establish another one when the first is
/// over.
#[derive(Debug, Default)]
pub(super) struct UsedCookies {
    tags: BTreeSet<u128>,
    expiry: VecDeque<(Instant, u128)>,
}

impl UsedCookies {
    fn contains(&self, tag: u128) -> bool {
        self.tags.contains(&tag)
    }
    fn add(&mut self, now: Instant, tag: u128) {
        while let Some((until, oldest)) = self.expiry.front()
            && (*until <= now || self.expiry.len() >= MAX_USED)
        {
            self.tags.remove(oldest);
            self.expiry.pop_front();
        }
        self.tags.insert(tag);
        self.expiry.push_back((now + LIFETIME, tag));
    }
}

impl Endpoint {
    /// Processes a packet that belongs to no connection.
    pub(super) fn handle_unmatched(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        meta: ReceiveMeta,
        packet: Packet,
    ) {
        if !has_valid_numbers(&packet) {
            return;
        }
        if self.table.is_taken(tuple.remote) {
            let reset = Reset::encapsulated_port_reuse(packet.packet_type(), tuple.remote.port());
            return self.stateless.reset(now, tuple.remote, &packet, reset);
        }
        let uses_cookies = self.config.init_cookies != InitCookies::Never;
        let refused = match packet.kind {
            Kind::Request { .. } => self.handle_request(now, tuple, meta, &packet),
            // The connection would end at once.
            Kind::Reset { .. } => return,
            _ if uses_cookies && Returned::is_on(&packet) => self.redeem(now, tuple, meta, &packet),
            _ => Err(ResetCode::NoConnection),
        };
        // An endpoint that shares its address does not answer packets that may be for others.
        let is_of_no_port = |code| matches!(code, ResetCode::NoConnection | ResetCode::ConnectionRefused);
        if let Err(code) = refused
            && (self.config.is_alone || !is_of_no_port(code))
        {
            self.stateless.refuse(now, tuple.remote, &packet, code);
        }
    }

    fn handle_request(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> Result<(), ResetCode> {
        let Kind::Request { service_code } = packet.kind else { return Ok(()) };
        self.listeners.find(tuple.local_port, service_code)?;
        match (
            self.counts.admission(&self.config, SourcePrefix::of(tuple.remote.ip())),
            self.config.init_cookies,
        ) {
            (Admission::Refused, _) => return Err(ResetCode::TooBusy),
            (Admission::UnconfirmedHere, InitCookies::Never) => return Err(ResetCode::TooBusy),
            (Admission::Unconfirmed, InitCookies::Never) => {
                if !self.evict_half_open(now.saturating_sub(HALF_OPEN_GRACE)) {
                    return Err(ResetCode::TooBusy);
                }
            }
            (Admission::Unconfirmed | Admission::UnconfirmedHere, _) | (_, InitCookies::Always) => {
                return self.answer_statelessly(now, &tuple, packet);
            }
            (Admission::Granted, _) => {}
        }
        let service = self.listeners.find(tuple.local_port, service_code)?;
        let iss = self.secret.initial_sequence(now, &tuple);
        let mut connection = Connection::server_of(now, service.config.clone(), packet, iss.value());
        moves::allow(self.mobility.as_ref(), &self.secret, &tuple, Some(packet), &mut connection);
        connection.handle_packet(now, meta, packet.clone());
        self.accept(now, tuple, connection, Counted::HalfOpen);
        Ok(())
    }

    fn accept(&mut self, now: Instant, tuple: FourTuple, connection: Connection, counted: Counted) {
        let index = self.table.insert(tuple, connection, counted);
        let table = &self.table;
        if let Some(entry) = table.get(index) {
            self.counts.add(now, index, entry, |index, number| is_half_open(table, index, number));
        }
        self.wake(ConnectionHandle(index));
    }

    /// Discards the connection that has been half-open for longest. Returns `false` if there is none. `latest`: time
    /// since which it must have waited.
    fn evict_half_open(&mut self, latest: Instant) -> bool {
        let table = &self.table;
        let oldest = self.counts.pop_half_open(latest, |index, number| is_half_open(table, index, number));
        let Some(index) = oldest else { return false };
        let Some(entry) = self.table.get_mut(index) else { return false };
        if let SlotState::Live(connection) = &mut entry.state {
            connection.evict();
        }
        self.counts.recount(entry);
        self.table.release_address(index);
        self.wake(ConnectionHandle(index));
        true
    }

    /// Answers a Request without keeping state.
    fn answer_statelessly(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        packet: &Packet,
    ) -> Result<(), ResetCode> {
        let Some(remembered) = Remembered::new(now, packet) else { return Err(ResetCode::TooBusy) };
        if !self.stateless.may_respond(now, &self.secret, tuple.remote.ip()) {
            return Ok(());
        }
        let Kind::Request { service_code } = packet.kind else { return Ok(()) };
        let service = self.listeners.find(tuple.local_port, service_code)?;
        let iss = self.secret.initial_sequence(remembered.at, tuple);
        let Some((_, mut response)) = respond(service, iss, &remembered, |connection| {
            moves::allow(self.mobility.as_ref(), &self.secret, tuple, Some(&remembered.request), connection);
        }) else {
            return Ok(());
        };
        // A Request with invalid options gets a Reset instead.
        if response.packet_type() == PacketType::Response {
            response.options.extend(self.cookies.bake(tuple, service.id, iss, &remembered));
            if !packet.payload.is_empty() {
                report_dropped(&mut response, AMPLIFICATION * packet.encoded_len());
            }
        }
        self.stateless.respond(tuple.remote, response);
        Ok(())
    }

    /// Processes a returned Init Cookie: creates the connection that the Response offered.
    fn redeem(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> Result<(), ResetCode> {
        let bad = ResetCode::BadInitCookie;
        let returned = Returned::read(now, packet).ok_or(bad)?;
        let service = self.listeners.find(tuple.local_port, returned.service_code).map_err(|_| bad)?;
        let iss = self.secret.initial_sequence(returned.at(), &tuple);
        if !returned.is_genuine(&self.cookies, &tuple, service.id, iss) {
            return Err(bad);
        }
        if self.used_cookies.contains(returned.tag()) {
            return Err(ResetCode::NoConnection);
        }
        if self.counts.admission(&self.config, SourcePrefix::of(tuple.remote.ip())) == Admission::Refused {
            return Err(ResetCode::TooBusy);
        }
        let remembered = returned.remembered(&tuple).ok_or(bad)?;
        let (mut connection, _) = respond(service, iss, &remembered, |connection| {
            moves::allow(self.mobility.as_ref(), &self.secret, &tuple, Some(&remembered.request), connection);
        })
        .ok_or(bad)?;
        connection.handle_packet(now, meta, packet.clone());
        if connection.state() == State::Respond {
            // The packet does not acknowledge the Response, so it does not prove that the Response arrived.
            return Err(bad);
        }
        connection.release_from_cookies();
        // This client has proved its address: it takes precedence over those that have not.
        if self.counts.is_full(&self.config) && !self.evict_half_open(now) {
            return Err(ResetCode::TooBusy);
        }
        self.used_cookies.add(now, returned.tag());
        self.accept(now, tuple, connection, Counted::Accepted);
        Ok(())
    }
}

fn is_half_open(table: &Table, index: usize, number: u64) -> bool {
    table.get_numbered(index, number).is_some_and(Entry::is_half_open)
}

/// Creates the connection of a Request, and its answer: the same at each call. `prepare`: applied to the connection
/// before.
fn respond(
    service: &Service,
    iss: SeqNo,
    remembered: &Remembered,
    prepare: impl FnOnce(&mut Connection),
) -> Option<(Connection, Packet)> {
    let Remembered { at, request } = remembered;
    let mut connection = Connection::server_of(*at, service.config.clone(), request, iss.value());
    prepare(&mut connection);
    connection.reserve_on_response(remembered.cookie_len());
    connection.handle_packet(*at, ReceiveMeta::default(), request.clone());
    let response = connection.poll_transmit(*at)?.packet;
    Some((connection, response))
}

/// RFC 4340, Section 8.1.3: reports data on the Request that were discarded, if there is room.
fn report_dropped(response: &mut Packet, limit: usize) {
    let mut report = DataDroppedBuilder::new();
    report.push(Some(DropCode::ProtocolConstraints), 1);
    response.options.extend(report.into_options());
    if response.encoded_len() > limit {
        response.options.pop();
    }
}
