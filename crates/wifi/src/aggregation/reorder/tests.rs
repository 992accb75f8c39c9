use std::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::Instant;

use super::ReorderBuffer;
use crate::aggregation::sequence_after;

struct Buffer {
    buffer: ReorderBuffer,
    start: u16,
}

impl Buffer {
    /// Receives the MPDU `ahead` of the first one. Returns the released ones, counted alike.
    fn receive(&mut self, ahead: u16) -> Vec<u64> {
        let mut released = Vec::new();
        let sequence = sequence_after(self.start, ahead);
        let packets = core::iter::once(u64::from(ahead));
        self.buffer.receive(Instant::ZERO, sequence, packets, &mut |packet| released.push(packet));
        released
    }

    fn request(&mut self, ahead: u16) -> Vec<u64> {
        let mut released = Vec::new();
        self.buffer.request(sequence_after(self.start, ahead), &mut |packet| released.push(packet));
        released
    }
}

/// ns-3's `BlockAckRecipientBufferTest`, numbers only; from 0 on and across the end of the numbers.
#[test]
fn mpdus_are_released_as_published() {
    for start in [0, 4090] {
        let mut buffer = Buffer { buffer: ReorderBuffer::new(start, 10), start };
        assert_eq!(buffer.receive(0), [0]);
        for ahead in [4, 2, 5, 3, 10, 7, 0, 2] {
            assert_eq!(buffer.receive(ahead), [] as [u64; 0], "{ahead}");
        }
        assert_eq!(buffer.receive(1), [1, 2, 3, 4, 5]);
        assert_eq!(buffer.receive(17), [7]);
        assert_eq!(buffer.buffer.start(), sequence_after(start, 8));
        assert!(buffer.request(7).is_empty() && buffer.request(8).is_empty());
        assert!(buffer.receive(9).is_empty() && buffer.receive(11).is_empty());
        assert_eq!(buffer.request(10), [9, 10, 11]);
        assert_eq!(buffer.buffer.held(), 1);
    }
}

#[test]
fn a_hole_is_skipped_after_its_time() {
    let at = Instant::from_millis;
    let mut buffer = ReorderBuffer::new(0, 64);
    let mut released = Vec::new();
    for (time, sequence) in [(0, 2), (10, 3), (50, 6)] {
        let packets = core::iter::once(sequence);
        buffer.receive(at(time), sequence as u16, packets, &mut |packet| released.push(packet));
    }
    assert_eq!(buffer.poll_timeout(), Some(at(100)));
    buffer.handle_timeout(at(99), &mut |packet| released.push(packet));
    assert!(released.is_empty());
    buffer.handle_timeout(at(100), &mut |packet| released.push(packet));
    assert_eq!((released, buffer.poll_timeout(), buffer.held()), (std::vec![2, 3], Some(at(150)), 1));
}

proptest! {
    /// For any arrivals, each MPDU is released at most once, and in order.
    #[test]
    fn the_order_is_restored_and_nothing_comes_twice(
        start in 0u16..4096,
        window in prop::sample::select(std::vec![1u16, 10, 64, 256]),
        arrivals in prop::collection::vec((0u64..2_000, any::<bool>(), 0u64..30), 1..300),
    ) {
        let mut buffer = ReorderBuffer::new(start, window);
        let mut released: Vec<u64> = Vec::new();
        let (mut offset, mut now) = (0u64, Instant::ZERO);
        for (position, is_request, pause) in arrivals {
            // A cloud of numbers that moves on.
            offset += pause % 5;
            now += whimbrel_units::Duration::from_millis(pause);
            let number = offset + position % 40;
            let sequence = ((u64::from(start) + number) % 4096) as u16;
            let mut release = |packet| released.push(packet);
            buffer.handle_timeout(now, &mut release);
            if is_request && position % 7 == 0 {
                buffer.request(sequence, &mut release);
            } else {
                buffer.receive(now, sequence, core::iter::once(number), &mut release);
            }
            prop_assert!(buffer.held() < window.max(1));
        }
        prop_assert!(released.is_sorted_by(|a, b| a < b), "{:?}", released);
    }
}
