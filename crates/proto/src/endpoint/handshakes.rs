//! Handshakes of new connections, with and without state (RFC 4340, Section 8.5, Steps 2 and 3).

use std::collections::{BTreeSet, VecDeque};

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::{DataDroppedBuilder, DropCode};
use whimbrel_wire::{Kind, Packet, PacketType, Reset, ResetCode, SeqNo};

use super::counts::{Admission, SourcePrefix};
use super::held::{Address, Held, Standing};
use super::init_cookie::{LIFETIME, Remembered, Returned};
use super::initial_sequence::FourTuple;
use super::listeners::Service;
use super::table::{Counted, Entry, SlotState, Table};
use super::{ConnectionHandle, Endpoint, InitCookies};
use crate::ReceiveMeta;
use crate::connection::has_valid_numbers;

/// The largest ratio of an answer's size to the size of the packet answered.
const AMPLIFICATION: usize = 3;
/// Time for which a client may complete the handshake before its place may be given to another: some
/// round-trip times, and a lost Response.
const HALF_OPEN_GRACE: Duration = Duration::from_secs(3);
/// The most used cookies recorded. At more than two thousand new connections per second a cookie may be
/// accepted a second time before it expires.
const MAX_USED: usize = 1 << 16;

/// Init Cookies that have established a connection: an old packet must not establish another one when the
/// first has ended.
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

impl<C: Held> Endpoint<C> {
    /// Processes a packet that belongs to no connection.
    pub(super) fn handle_unmatched(
        &mut self,
        now: Instant,
        tuple: FourTuple<C::Address>,
        meta: ReceiveMeta,
        packet: Packet,
    ) {
        if !has_valid_numbers(&packet) {
            return;
        }
        if self.table.is_taken(&tuple.address) {
            let port = tuple.address.remote().port();
            let reset = Reset::encapsulated_port_reuse(packet.packet_type(), port);
            return self.stateless.refuse(now, tuple.address, &packet, reset);
        }
        let uses_cookies = self.config.init_cookies != InitCookies::Never;
        let refused = match packet.kind {
            Kind::Request { .. } => self.handle_request(now, tuple, meta, &packet),
            // The connection would end at once.
            Kind::Reset { .. } => return,
            _ if uses_cookies && Returned::is_on(&packet) => self.redeem(now, tuple, meta, &packet),
            _ => Err(Reset::new(ResetCode::NoConnection)),
        };
        // An endpoint that shares its address does not answer packets that may be for others.
        let is_of_no_port =
            |reset: &Reset| matches!(reset.code, ResetCode::NoConnection | ResetCode::ConnectionRefused);
        if let Err(reset) = refused
            && (self.config.is_alone || !is_of_no_port(&reset))
        {
            self.stateless.refuse(now, tuple.address, &packet, reset);
        }
    }

    fn handle_request(
        &mut self,
        now: Instant,
        tuple: FourTuple<C::Address>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> Result<(), Reset> {
        let Kind::Request { service_code } = packet.kind else { return Ok(()) };
        let service = self.listeners.find(tuple.local_port, service_code)?;
        if let Some(reset) = C::objection(&service.config, packet) {
            return Err(reset);
        }
        let too_busy = Reset::new(ResetCode::TooBusy);
        match (self.admission(&tuple), self.config.init_cookies) {
            (Admission::Refused, _) => return Err(too_busy),
            (Admission::UnconfirmedHere, InitCookies::Never) => return Err(too_busy),
            (Admission::Unconfirmed, InitCookies::Never) => {
                if !self.evict_half_open(now.saturating_sub(HALF_OPEN_GRACE)) {
                    return Err(too_busy);
                }
            }
            (Admission::Unconfirmed | Admission::UnconfirmedHere, _) | (_, InitCookies::Always) => {
                return self.answer_statelessly(now, &tuple, packet);
            }
            (Admission::Granted, _) => {}
        }
        let service = self.listeners.find(tuple.local_port, service_code)?;
        let iss = self.secret.initial_sequence(now, &tuple);
        let from = (&self.common, &self.secret);
        let Some(mut connection) = C::answer(from, &service.config, now, &tuple, packet, iss) else {
            return Ok(());
        };
        if self.has_identifier_of_another(&connection) {
            return Err(too_busy);
        }
        connection.handle_packet(now, tuple.address, meta, packet.clone());
        self.accept(now, tuple, connection, Counted::HalfOpen);
        Ok(())
    }

    fn admission(&self, tuple: &FourTuple<C::Address>) -> Admission {
        self.counts.admission(&self.config, SourcePrefix::of(tuple.address.remote().ip()))
    }

    fn accept(&mut self, now: Instant, tuple: FourTuple<C::Address>, connection: C, counted: Counted) {
        let index = self.table.insert(tuple, connection, counted);
        let table = &self.table;
        if let Some(entry) = table.get(index) {
            self.counts.add(now, index, entry, |index, number| is_half_open(table, index, number));
        }
        self.wake(ConnectionHandle(index));
    }

    /// Discards the connection that has been half-open for longest. Returns `false` if there is none.
    /// `latest`: time since which it must have waited.
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
        tuple: &FourTuple<C::Address>,
        packet: &Packet,
    ) -> Result<(), Reset> {
        let too_large = Reset::new(ResetCode::TooBusy);
        let Some(remembered) = Remembered::new(now, packet) else { return Err(too_large) };
        if !self.stateless.may_respond(now, &self.secret, tuple.address.remote().ip()) {
            return Ok(());
        }
        let Kind::Request { service_code } = packet.kind else { return Ok(()) };
        let service = self.listeners.find(tuple.local_port, service_code)?;
        let iss = self.secret.initial_sequence(remembered.at, tuple);
        let Some((_, mut response)) = self.respond(service, tuple, iss, &remembered) else { return Ok(()) };
        // A Request with invalid options gets a Reset instead.
        if response.packet_type() == PacketType::Response {
            response.options.extend(self.cookies.bake(tuple, service.id, iss, &remembered));
            if !packet.payload.is_empty() {
                report_dropped(&mut response, AMPLIFICATION * packet.encoded_len());
            }
        }
        self.stateless.respond(tuple.address, response);
        Ok(())
    }

    /// Processes a returned Init Cookie: creates the connection that the Response offered.
    fn redeem(
        &mut self,
        now: Instant,
        tuple: FourTuple<C::Address>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> Result<(), Reset> {
        let bad = Reset::new(ResetCode::BadInitCookie);
        let Some((returned, service, iss)) = self.returned(now, &tuple, packet) else { return Err(bad) };
        if self.used_cookies.contains(returned.tag()) {
            return Err(Reset::new(ResetCode::NoConnection));
        }
        let too_busy = Reset::new(ResetCode::TooBusy);
        if self.admission(&tuple) == Admission::Refused {
            return Err(too_busy);
        }
        let Some(remembered) = returned.remembered(&tuple) else { return Err(bad) };
        let Some((mut connection, _)) = self.respond(service, &tuple, iss, &remembered) else {
            return Err(bad);
        };
        connection.handle_packet(now, tuple.address, meta, packet.clone());
        if connection.standing() == Standing::HalfOpen {
            // The packet does not acknowledge the Response, so it does not prove that the Response arrived.
            return Err(bad);
        }
        connection.release_from_cookies();
        // This client has proved its address: it takes precedence over those that have not.
        let has_room = !self.counts.is_full(&self.config) || self.evict_half_open(now);
        if !has_room || self.has_identifier_of_another(&connection) {
            return Err(too_busy);
        }
        self.used_cookies.add(now, returned.tag());
        self.accept(now, tuple, connection, Counted::Accepted);
        Ok(())
    }

    /// The cookie of a packet, if this endpoint created it, with the service and the sequence number of the
    /// Response.
    pub(super) fn returned(
        &self,
        now: Instant,
        tuple: &FourTuple<C::Address>,
        packet: &Packet,
    ) -> Option<(Returned, &Service<C::Service>, SeqNo)> {
        let returned = Returned::read(now, packet)?;
        let service = self.listeners.find(tuple.local_port, returned.service_code).ok()?;
        let iss = self.secret.initial_sequence(returned.at(), tuple);
        returned.is_genuine(&self.cookies, tuple, service.id, iss).then_some((returned, service, iss))
    }

    /// Creates the connection of a Request, and its answer: the same at each call.
    fn respond(
        &self,
        service: &Service<C::Service>,
        tuple: &FourTuple<C::Address>,
        iss: SeqNo,
        remembered: &Remembered,
    ) -> Option<(C, Packet)> {
        let Remembered { at, request } = remembered;
        let from = (&self.common, &self.secret);
        let mut connection = C::answer(from, &service.config, *at, tuple, request, iss)?;
        connection.reserve_on_response(remembered.cookie_len());
        connection.handle_packet(*at, tuple.address, ReceiveMeta::default(), request.clone());
        let mut extra = connection.extra();
        let (_, response) = connection.poll_transmit(*at, &mut extra, tuple.address)?;
        Some((connection, response.packet))
    }

    /// `true` if packets that name the connection would reach another one, and the kind of connection has no
    /// use without an identifier of its own.
    fn has_identifier_of_another(&self, connection: &C) -> bool {
        C::NEEDS_IDENTIFIER
            && connection.identifier().is_some_and(|it| self.table.find_identifier(it).is_some())
    }
}

fn is_half_open<C: Held>(table: &Table<C>, index: usize, number: u64) -> bool {
    table.get_numbered(index, number).is_some_and(Entry::is_half_open)
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
