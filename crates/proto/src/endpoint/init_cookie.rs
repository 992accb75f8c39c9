//! Init Cookies: handshakes without state at the server (RFC 4340, Section 8.1.4).
//!
//! The cookie holds what the server needs to answer the Request again: its arrival time, sequence number,
//! Service Code and options. Everything else follows from these. When the cookie is returned, the Request is
//! processed again as of that time, which creates the same connection that a stateful server would have
//! created, and then the packet that carried the cookie.
//!
//! ```text
//! 4 bytes   arrival time of the Request, in units of 1024 ns
//! 6 bytes   its Sequence Number
//! 4 bytes   its Service Code
//! 16 bytes  an authenticator of all this, the addresses, the ports, the number of the
//!           Response and the listener
//! the rest  its relevant options
//! ```
//!
//! With the option's two bytes of header that makes 32, so that the smallest Response with a cookie is just
//! three times as long as the smallest Request.

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::MAX_DATA_LEN;
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Kind, OptionBytes, Options, Packet, Payload, SeqNo, ServiceCode,
};

use super::held::Address;
use super::initial_sequence::{FourTuple, Secret};

#[cfg(test)]
mod tests;

/// Lifetime of a cookie. A client answers a Response at once: this is many round-trip times, and some
/// retransmissions of a lost acknowledgement.
pub(super) const LIFETIME: Duration = Duration::from_secs(30);
/// Time for which a key is used for new cookies. Longer than the lifetime of a cookie, so that only the
/// current key and the previous one are ever in use.
const KEY_LIFETIME: Duration = Duration::from_secs(64);
/// Separates the keys of this purpose from others derived from the endpoint's secret.
const PURPOSE: u64 = 0x496e_6974_436f_6f6b;
/// Clock readings are truncated to units of 2^10 ns.
const UNIT_BITS: u32 = 10;
/// Length of a cookie without options.
const FIXED_LEN: usize = 4 + 6 + 4 + 16;
/// The header of a Request without options.
const REQUEST_LEN: usize = 20;
/// The most bytes of options of a Request that is answered statelessly: a larger cookie would leave no room
/// for other options on the client's packets.
const MAX_OPTIONS_LEN: usize = 512;

/// A Request, as stored in a cookie.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Remembered {
    /// Its arrival time.
    pub(super) at: Instant,
    /// Its relevant contents.
    pub(super) request: Packet,
}

impl Remembered {
    /// The contents of the cookie for a Request that arrives now; `None` if they are too large.
    pub(super) fn new(now: Instant, request: &Packet) -> Option<Self> {
        let mut kept =
            Packet { options: relevant(&request.options), payload: Payload::EMPTY, ..request.clone() };
        kept.ccval = 0;
        kept.checksum_coverage = ChecksumCoverage::ALL;
        let at = Instant::from_nanos(now.as_nanos() >> UNIT_BITS << UNIT_BITS);
        (kept.encoded_len() <= REQUEST_LEN + MAX_OPTIONS_LEN).then_some(Self { at, request: kept })
    }

    /// Number of bytes of options that its cookie takes.
    pub(super) fn cookie_len(&self) -> usize {
        let data = FIXED_LEN + self.request.encoded_len() - REQUEST_LEN;
        data + 2 * data.div_ceil(MAX_DATA_LEN)
    }
}

/// Options of a Request that affect the connection: feature negotiation, a Timestamp, a Mobility Key,
/// multipath keys, and those that must be understood.
fn relevant(options: &Options) -> Options {
    let mut kept = Options::new();
    let mut mandatory = false;
    for option in options {
        let counts = match option {
            // Section 8.1.4: ignored on Requests.
            DccpOption::InitCookie(_) => mandatory,
            DccpOption::Padding => mandatory,
            DccpOption::Mandatory
            | DccpOption::Feature(_)
            | DccpOption::Timestamp(_)
            | DccpOption::Mobility { .. }
            | DccpOption::Multipath(_) => true,
            _ => mandatory,
        };
        if counts {
            kept.push(option.clone());
        }
        mandatory = *option == DccpOption::Mandatory;
    }
    kept
}

/// Creates cookies, and reads returned ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct CookieJar(Secret);

impl CookieJar {
    pub(super) fn new(secret: Secret) -> Self {
        Self(secret)
    }

    /// The cookie for a Request, in as many options as necessary. `listener` identifies the configuration
    /// that answers it.
    pub(super) fn bake<A: Address>(
        &self,
        tuple: &FourTuple<A>,
        listener: u64,
        iss: SeqNo,
        remembered: &Remembered,
    ) -> impl Iterator<Item = DccpOption> {
        let Remembered { at, request } = remembered;
        let mut bytes = Vec::with_capacity(FIXED_LEN + request.encoded_len());
        let service_code = service_code(request);
        bytes.extend_from_slice(&((at.as_nanos() >> UNIT_BITS) as u32).to_be_bytes());
        bytes.extend_from_slice(&request.sequence.value().to_be_bytes()[2..]);
        bytes.extend_from_slice(&service_code.0.to_be_bytes());
        let tag_at = bytes.len();
        let mut encoded = Vec::new();
        // A decoded packet can be encoded.
        let _ = request.encode(&mut encoded);
        let options = encoded.get(REQUEST_LEN..).unwrap_or_default();
        let contents = Contents { at: *at, isr: request.sequence, service_code, options };
        bytes.extend_from_slice(&self.authenticate(tuple, listener, iss, &contents).to_be_bytes());
        debug_assert_eq!(bytes.len(), tag_at + 16);
        bytes.extend_from_slice(options);
        let options: SmallVec<[DccpOption; 2]> = bytes
            .chunks(MAX_DATA_LEN)
            .map(|piece| DccpOption::InitCookie(OptionBytes::from_slice(piece)))
            .collect();
        options.into_iter()
    }

    fn authenticate<A: Address>(
        &self,
        tuple: &FourTuple<A>,
        listener: u64,
        iss: SeqNo,
        contents: &Contents<'_>,
    ) -> u128 {
        let key = self.0.derive(PURPOSE, contents.at.as_nanos() / KEY_LIFETIME.as_nanos());
        let mut words = tuple.words();
        let (at, code) = (contents.at.as_nanos(), contents.service_code.0.into());
        words.extend([listener, at, iss.value(), contents.isr.value(), code]);
        key.authenticate(&words, contents.options)
    }
}

/// A returned cookie, not trustworthy before [`Returned::is_genuine`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Returned {
    at: Instant,
    isr: SeqNo,
    /// The Service Code of the Request.
    pub(super) service_code: ServiceCode,
    tag: u128,
    options: Vec<u8>,
}

/// The input of a cookie's authenticator.
struct Contents<'a> {
    at: Instant,
    isr: SeqNo,
    service_code: ServiceCode,
    options: &'a [u8],
}

impl Returned {
    /// `true` if a packet carries Init Cookies that count.
    pub(super) fn is_on(packet: &Packet) -> bool {
        let packet_type = packet.packet_type();
        packet
            .options
            .iter()
            .any(|option| matches!(option, DccpOption::InitCookie(_)) && option.counts_on(packet_type))
    }

    /// Reads the cookie of a packet; `None` if it cannot be a valid one.
    pub(super) fn read(now: Instant, packet: &Packet) -> Option<Self> {
        let mut bytes = Vec::new();
        for option in &packet.options {
            if let DccpOption::InitCookie(data) = option {
                bytes.extend_from_slice(data);
            }
        }
        let (time, rest) = bytes.split_first_chunk::<4>()?;
        let (isr, rest) = rest.split_first_chunk::<6>()?;
        let (service_code, rest) = rest.split_first_chunk::<4>()?;
        let (tag, options) = rest.split_first_chunk::<16>()?;
        if options.len() > MAX_OPTIONS_LEN || options.len() % 4 != 0 {
            return None;
        }
        let at = expand_time(now, u32::from_be_bytes(*time));
        let [a, b, c, d, e, f] = *isr;
        (now.saturating_since(at) <= LIFETIME).then(|| Self {
            at,
            isr: SeqNo::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])),
            service_code: ServiceCode(u32::from_be_bytes(*service_code)),
            tag: u128::from_be_bytes(*tag),
            options: options.to_vec(),
        })
    }

    /// Arrival time of the Request.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// Identifies the cookie among all authentic ones.
    pub(super) fn tag(&self) -> u128 {
        self.tag
    }

    /// `true` if this endpoint created it, for these addresses and ports and this listener.
    pub(super) fn is_genuine<A: Address>(
        &self,
        jar: &CookieJar,
        tuple: &FourTuple<A>,
        listener: u64,
        iss: SeqNo,
    ) -> bool {
        let contents =
            Contents { at: self.at, isr: self.isr, service_code: self.service_code, options: &self.options };
        // Compare the whole value, so that timing does not reveal the length of a correct prefix.
        jar.authenticate(tuple, listener, iss, &contents) ^ self.tag == 0
    }

    /// Restores the Request.
    pub(super) fn remembered<A>(&self, tuple: &FourTuple<A>) -> Option<Remembered> {
        let bare = Packet {
            source_port: tuple.remote_port,
            destination_port: tuple.local_port,
            ccval: 0,
            checksum_coverage: ChecksumCoverage::ALL,
            extended: true,
            sequence: self.isr,
            kind: Kind::Request { service_code: self.service_code },
            options: Options::new(),
            payload: Payload::EMPTY,
        };
        let mut bytes = Vec::with_capacity(REQUEST_LEN + self.options.len());
        bare.encode(&mut bytes).ok()?;
        bytes.extend_from_slice(&self.options);
        // Data Offset, in words (RFC 4340, Section 5.1).
        bytes[4] = u8::try_from(bytes.len() / 4).ok()?;
        Some(Remembered { at: self.at, request: Packet::decode_slice(&bytes).ok()? })
    }
}

/// The latest instant not after `now` with these low bits.
fn expand_time(now: Instant, low: u32) -> Instant {
    let now = now.as_nanos() >> UNIT_BITS;
    let back = u64::from((now as u32).wrapping_sub(low));
    Instant::from_nanos(now.saturating_sub(back) << UNIT_BITS)
}

fn service_code(request: &Packet) -> ServiceCode {
    match request.kind {
        Kind::Request { service_code } => service_code,
        _ => ServiceCode::default(),
    }
}
