//! Receive buffers, which the kernel writes to.
//!
//! Coalesced datagrams are passed on without a copy, as slices of the buffer; it is reused once the last
//! of them is dropped. A slice keeps the whole buffer alive, so that little data is copied instead: the
//! unread data of a slow reader takes at most eight times its size.

use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// The largest result of one receive call: coalesced datagrams fill at most an IP packet.
const LARGEST_RECEIVE: usize = 1 << 16;
/// Less than this is copied.
const WORTH_LENDING: usize = LARGEST_RECEIVE / 8;
/// The most lent buffers tracked. If all are still in use, new ones replace them.
const MAX_LENT: usize = 16;

thread_local! {
    static BUFFERS: RefCell<ReceiveBuffers> = RefCell::new(ReceiveBuffers::new());
}

/// Lends this thread's buffers, which are shared by all sockets that it drives: each needs one only during a
/// call, and few have much to receive at the same time.
pub(crate) fn with_buffers<T>(run: impl FnOnce(&mut ReceiveBuffers) -> T) -> T {
    BUFFERS.with_borrow_mut(run)
}

/// Receive buffers, which the kernel writes to.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    current: BytesMut,
    /// Buffers with slices in use, in the order in which they were lent.
    lent: VecDeque<Bytes>,
}

impl ReceiveBuffers {
    pub(crate) fn new() -> Self {
        Self { current: BytesMut::zeroed(LARGEST_RECEIVE), lent: VecDeque::new() }
    }

    /// The memory for the next receive call.
    pub(crate) fn current(&mut self) -> &mut [u8] {
        &mut self.current
    }

    /// The first `length` bytes of the current buffer.
    pub(crate) fn take(&mut self, length: usize) -> Bytes {
        if length < WORTH_LENDING {
            return Bytes::copy_from_slice(&self.current[..length]);
        }
        let next = self.idle();
        let whole = std::mem::replace(&mut self.current, next).freeze();
        let taken = whole.slice(..length);
        if self.lent.len() == MAX_LENT {
            self.lent.pop_front();
        }
        self.lent.push_back(whole);
        taken
    }

    /// An unused buffer.
    fn idle(&mut self) -> BytesMut {
        let back = self.lent.iter().position(Bytes::is_unique).and_then(|at| self.lent.remove(at));
        back.and_then(|buffer| buffer.try_into_mut().ok())
            .unwrap_or_else(|| BytesMut::zeroed(LARGEST_RECEIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_when_the_last_slice_is_gone() {
        let mut buffers = ReceiveBuffers::new();
        let first = buffers.current().as_ptr();
        let mut lent = buffers.take(WORTH_LENDING);
        let slice = lent.split_to(10);
        drop(lent);
        let second = buffers.current().as_ptr();
        drop(buffers.take(LARGEST_RECEIVE));
        assert!(![first, second].contains(&buffers.current().as_ptr()), "two buffers are in use");
        drop(slice);
        drop(buffers.take(LARGEST_RECEIVE));
        assert_eq!(buffers.current().as_ptr(), first);
        assert_eq!(buffers.current().len(), LARGEST_RECEIVE);
    }

    #[test]
    fn little_data_leaves_the_buffer_where_it_is() {
        let mut buffers = ReceiveBuffers::new();
        let at = buffers.current().as_ptr();
        buffers.current()[..3].copy_from_slice(b"abc");
        assert_eq!(buffers.take(3)[..], *b"abc");
        assert_eq!(buffers.current().as_ptr(), at);
    }

    #[test]
    fn buffers_that_are_never_returned_are_not_waited_for() {
        let mut buffers = ReceiveBuffers::new();
        let kept: Vec<_> = (0..3 * MAX_LENT).map(|_| buffers.take(LARGEST_RECEIVE)).collect();
        assert_eq!(buffers.lent.len(), MAX_LENT);
        assert!(kept.iter().all(|bytes| bytes.len() == LARGEST_RECEIVE));
    }
}
