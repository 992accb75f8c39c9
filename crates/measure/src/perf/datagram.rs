//! The head of each measured datagram.

/// Marks a datagram of whimbrel perf.
const MAGIC: u32 = 0x57_48_49_4d;

/// The head of each measured datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// The test.
    pub(crate) token: u64,
    /// The stream of the test.
    pub(crate) stream: u16,
    /// Purpose of the datagram.
    pub(crate) kind: Kind,
    /// Number of the datagram in its stream, from 0 in the order in which the application made them. Of a
    /// greeting and its answer: the nonce of the client.
    pub(crate) sequence: u64,
    /// Time at which it was made, in nanoseconds on the sender's clock. Of a greeting and its answer: the
    /// nonce of the server, 0 while the client does not know it.
    pub(crate) sent: u64,
}

/// The purpose of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Measured data.
    Data,
    /// Of a client: identifies the stream of the connection, not measured.
    Greeting,
    /// Of a server over plain UDP: the answer to a greeting, not measured.
    Answer,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Data, Self::Greeting, Self::Answer];
}

impl Head {
    /// Bytes it takes.
    pub(crate) const LEN: usize = 32;

    /// Writes it to the front of `out`, which must be at least [`Head::LEN`] long.
    pub(crate) fn write(self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&MAGIC.to_be_bytes());
        out[4..12].copy_from_slice(&self.token.to_be_bytes());
        out[12..14].copy_from_slice(&self.stream.to_be_bytes());
        out[14..16].copy_from_slice(&(self.kind as u16).to_be_bytes());
        out[16..24].copy_from_slice(&self.sequence.to_be_bytes());
        out[24..32].copy_from_slice(&self.sent.to_be_bytes());
    }

    /// Reads it from a datagram; `None` if that has another format.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let head: &[u8; Self::LEN] = datagram.first_chunk()?;
        let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| head[at + i]));
        let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let kind = *Kind::ALL.get(usize::from(short(14)))?;
        (head[0..4] == MAGIC.to_be_bytes()).then(|| Self {
            token: word(4),
            stream: short(12),
            kind,
            sequence: word(16),
            sent: word(24),
        })
    }
}

/// The place of a datagram in a frame, behind the head if the datagram has room.
///
/// Zeros, which an earlier version sends, are no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The number of the frame, from 1 on.
    pub(crate) frame: u32,
    /// The datagram's number in it, from 0 on, and the number of all.
    pub(crate) index: u16,
    pub(crate) count: u16,
}

impl Place {
    /// Writes it behind the head, if there is room.
    pub(crate) fn write(self, datagram: &mut [u8]) {
        if let Some(out) = datagram.get_mut(Head::LEN..Head::LEN + 8) {
            out[..4].copy_from_slice(&self.frame.to_be_bytes());
            out[4..6].copy_from_slice(&self.index.to_be_bytes());
            out[6..].copy_from_slice(&self.count.to_be_bytes());
        }
    }

    /// Reads it from a datagram with a head.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let bytes: &[u8; 8] = datagram.get(Head::LEN..)?.first_chunk()?;
        let short = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let frame = u32::from(short(0)) << 16 | u32::from(short(2));
        let place = Self { frame, index: short(4), count: short(6) };
        (frame > 0 && place.index < place.count).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Kind, Place};

    #[test]
    fn a_place_needs_room_and_zeros_are_none() {
        let place = Place { frame: 1 << 20, index: 3, count: 16 };
        for (size, read) in [(39, None), (40, Some(place)), (1200, Some(place))] {
            let mut datagram = vec![0; size];
            assert_eq!(Place::read(&datagram), None);
            place.write(&mut datagram);
            assert_eq!(Place::read(&datagram), read);
        }
    }

    #[test]
    fn a_head_reads_as_it_was_written_and_other_datagrams_do_not() {
        let mut bytes = [0; 40];
        for kind in Kind::ALL {
            let head = Head { token: 1 << 60, stream: 7, kind, sequence: 9, sent: u64::MAX };
            head.write(&mut bytes);
            assert_eq!(Head::read(&bytes), Some(head));
        }
        assert_eq!(Head::read(&bytes[..31]), None);
        bytes[0] ^= 1;
        assert_eq!(Head::read(&bytes), None);
    }
}
