//! Several commands and values in one packet.
//!
//! While congestion control holds datagrams, those that wait leave together: a path that nearly fails then
//! carries all values of a vehicle in the packets, and with the headers, that a few of them would take.
//!
//! A bundle is a datagram of the connection with a header of its own, as a [report](super::report) has, which
//! an end of an earlier version discards: it gets none. The length of each datagram of the connection, in two
//! bytes, precedes it. Parts and bundles are not among them.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::flow::{self, Flow};
use super::report;

/// The header of a bundle.
pub(crate) const HEADER: Flow = Flow { port: report::HEADER.port, number: 3 };
/// Bytes of a bundle: a path of 1280 bytes (IPv6's minimum) carries it with all headers.
pub(crate) const MOST_BYTES: usize = 1000;
/// Datagrams of a bundle.
pub(crate) const MOST: usize = 64;
/// Bytes before the first datagram, and before each.
pub(crate) const BEFORE_ALL: usize = flow::HEADER;
pub(crate) const BEFORE_EACH: usize = 2;

/// The bundle of these datagrams of the connection, each shorter than 64 KiB.
pub(crate) fn join<'a>(datagrams: impl Iterator<Item = &'a Bytes>) -> Bytes {
    let mut bundle = BytesMut::with_capacity(MOST_BYTES);
    bundle.put_slice(&[HEADER.port, HEADER.number]);
    for datagram in datagrams {
        bundle.put_u16(datagram.len() as u16);
        bundle.put_slice(datagram);
    }
    bundle.freeze()
}

/// The datagrams of a bundle; `None` if it is none. They end with the first that is not whole, and after
/// [`MOST`] of them.
pub(crate) fn split(bundle: &Bytes) -> Option<impl Iterator<Item = Bytes> + use<>> {
    let (flow, mut rest) = Flow::unwrap(bundle.clone())?;
    let next = move || {
        let length = usize::from(rest.try_get_u16().ok()?);
        (length <= rest.len()).then(|| rest.split_to(length))
    };
    (flow == HEADER).then(|| std::iter::from_fn(next).take(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagrams(bundle: &Bytes) -> Option<Vec<Bytes>> {
        Some(split(bundle)?.collect())
    }

    #[test]
    fn a_bundle_has_the_datagrams_in_their_order() {
        let all = [b"one".as_slice(), b"", b"three"].map(Bytes::from_static);
        let bundle = join(all.iter());
        assert_eq!(bundle[..], *b"\xff\x03\0\x03one\0\0\0\x05three");
        assert_eq!(datagrams(&bundle), Some(all.to_vec()));
        assert_eq!(bundle.len(), BEFORE_ALL + 3 * BEFORE_EACH + 8);
    }

    #[test]
    fn what_is_cut_or_too_much_is_left_out() {
        let all = [b"one".as_slice(), b"two"].map(Bytes::from_static);
        let bundle = join(all.iter());
        for length in 7..bundle.len() {
            assert_eq!(datagrams(&bundle.slice(..length)), Some(all[..1].to_vec()), "{length}");
        }
        let many = join(std::iter::repeat_n(&all[0], 100));
        assert_eq!(datagrams(&many).map(|all| all.len()), Some(MOST));
        assert_eq!(datagrams(&Bytes::from_static(b"\xff\x01\0\x01a")), None);
    }
}
