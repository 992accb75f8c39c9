//! A frame with its repair symbols.

use std::hint::black_box;

use whimbrel_repair::encoder::Encoder;
use whimbrel_repair::fecframe::Esi;

/// Bytes of a datagram.
pub(crate) const SIZE: usize = 1200;
/// Datagrams of a frame, and repair symbols after it: 20 %.
pub(crate) const FRAME: u32 = 20;
pub(crate) const PARITY: u32 = 4;

/// Sends a frame: each datagram is added to the open repair symbols, which are closed after the last.
pub(crate) fn send_frame(
    encoder: &mut Encoder,
    frames: u32,
    adu: &[u8],
    mut repair: impl FnMut(&mut Encoder),
) -> Esi {
    let first = encoder.next();
    encoder.forget_before(first.plus((FRAME * (frames - 1)).wrapping_neg()));
    for _ in 0..PARITY {
        encoder.open(encoder.first());
    }
    for _ in 0..FRAME {
        encoder.push(0, black_box(adu)).expect("a datagram of the right size");
    }
    for _ in 0..PARITY {
        repair(encoder);
    }
    first
}
