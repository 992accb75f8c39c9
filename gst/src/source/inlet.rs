//! Datagrams that have arrived for a pad, and wait for its streaming thread.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most datagrams that wait, and the most bytes, as in a relay's queue.
const DATAGRAMS: usize = 4096;
const BYTES: usize = 4 << 20;
/// The most datagrams that are passed on at a time.
const BATCH: usize = 64;

/// The queue of a pad.
#[derive(Debug, Default)]
pub(super) struct Inlet {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    buffers: VecDeque<gst::Buffer>,
    bytes: usize,
    is_flushing: bool,
    is_over: bool,
    /// The next datagram is the first one of a connection.
    is_new: bool,
    /// The SSRC of the last RTP packet.
    source: Option<u32>,
}

impl Inlet {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a datagram, which has arrived at that time; `false`: too many wait already.
    pub(super) fn push(&self, datagram: &[u8], time: Option<gst::ClockTime>) -> bool {
        let mut waiting = self.lock();
        if let Some(source) = crate::key_frames::source_of(datagram) {
            waiting.source = Some(source);
        }
        if waiting.buffers.len() >= DATAGRAMS || waiting.bytes + datagram.len() > BYTES || waiting.is_flushing
        {
            return false;
        }
        let mut buffer = gst::Buffer::from_slice(Box::<[u8]>::from(datagram));
        if let Some(buffer) = buffer.get_mut() {
            buffer.set_pts(time);
            buffer.set_dts(time);
            if std::mem::take(&mut waiting.is_new) {
                buffer.set_flags(gst::BufferFlags::DISCONT);
            }
        }
        waiting.bytes += datagram.len();
        waiting.buffers.push_back(buffer);
        drop(waiting);
        self.changed.notify_all();
        true
    }

    /// Waits for datagrams.
    ///
    /// # Errors
    /// The pad is flushed, or no connection will bring any.
    pub(super) fn pop(&self) -> Result<Vec<gst::Buffer>, gst::FlowError> {
        let mut waiting = self.lock();
        loop {
            if waiting.is_flushing {
                return Err(gst::FlowError::Flushing);
            }
            if !waiting.buffers.is_empty() {
                let count = waiting.buffers.len().min(BATCH);
                let taken: Vec<gst::Buffer> = waiting.buffers.drain(..count).collect();
                waiting.bytes -= taken.iter().map(|buffer| buffer.size()).sum::<usize>();
                return Ok(taken);
            }
            if waiting.is_over {
                return Err(gst::FlowError::Eos);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets a waiting thread go, and keeps none from then on; or ends that.
    pub(super) fn set_flushing(&self, is_flushing: bool) {
        self.lock().is_flushing = is_flushing;
        self.changed.notify_all();
    }

    /// Forgets what waits: the pipeline starts, or stops.
    pub(super) fn clear(&self) {
        *self.lock() = Waiting::default();
    }

    /// A connection begins.
    pub(super) fn begin(&self) {
        self.lock().is_new = true;
    }

    /// There will be no more datagrams.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// The SSRC of the stream.
    pub(super) fn source(&self) -> Option<u32> {
        self.lock().source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_in_order_and_a_flush_lets_a_reader_go() {
        gst::init().expect("GStreamer");
        let inlet = Inlet::default();
        inlet.begin();
        for number in 0..100u8 {
            assert!(inlet.push(&[number], None));
        }
        let first = inlet.pop().expect("datagrams");
        assert!(first[0].flags().contains(gst::BufferFlags::DISCONT));
        assert!(!first[1].flags().contains(gst::BufferFlags::DISCONT));
        let rest = inlet.pop().expect("datagrams");
        let all = first.iter().chain(&rest).map(|buffer| buffer.map_readable().expect("memory")[0]);
        assert!(all.eq(0..100));
        inlet.set_flushing(true);
        assert_eq!(inlet.pop(), Err(gst::FlowError::Flushing));
        assert!(!inlet.push(b"x", None));
        inlet.set_flushing(false);
        inlet.push(b"last", None);
        inlet.end();
        assert_eq!(inlet.pop().map(|all| all.len()), Ok(1));
        assert_eq!(inlet.pop(), Err(gst::FlowError::Eos));
        inlet.clear();
        let accepted = (0..2 * DATAGRAMS).filter(|_| inlet.push(b"x", None)).count();
        assert_eq!(accepted, DATAGRAMS);
    }
}
