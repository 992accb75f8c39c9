//! Scenarios as sentences: acknowledgements in, segments out.

use whimbrel_units::{Duration, Instant};

use super::*;
use crate::tcp::{ByteRange, TcpConfig, Variant};

mod accurate_ecn;
mod at_the_end;
mod congestion_marks;
mod duplicates;
mod limited_transmit;
mod linux;
mod opening;
mod paced;
mod rack;
mod selective;
mod spurious;
mod timer;
mod window;

/// A sender with segments of 1000 bytes, driven by numbers of segments from 0.
struct Script {
    sender: TcpSender,
    now: Instant,
    flags: Flags,
}

impl Script {
    fn new(config: TcpConfig) -> Self {
        let mut script = Self::idle(config);
        script.sender.send_forever();
        script
    }

    fn idle(config: TcpConfig) -> Self {
        Self { sender: TcpSender::new(&config), now: Instant::ZERO, flags: Flags::ACK }
    }

    /// `rfc` with 1000-byte segments and an initial window.
    fn rfc(variant: Variant, window: u32) -> TcpConfig {
        let mut config = TcpConfig::rfc(variant);
        config.segment_size = 1000;
        config.window.initial = whimbrel_control::window::InitialWindow::Segments(window);
        config
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// All segments that it sends now, whole ones, by number.
    fn drain(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            assert_eq!((segment.seq % 1000, segment.length), (0, 1000), "{segment:?}");
            sent.push(segment.seq / 1000);
            assert!(sent.len() < 1000, "does not stop: {sent:?}");
        }
        assert!(self.sender.poll_timeout().is_none_or(|deadline| deadline > self.now));
        sent
    }

    #[track_caller]
    fn sends(&mut self, expected: impl IntoIterator<Item = u64>) -> &mut Self {
        let expected: Vec<u64> = expected.into_iter().collect();
        assert_eq!(self.drain(), expected, "at {}: {:?}", self.now, self.sender.snapshot());
        self
    }

    #[track_caller]
    fn sends_nothing(&mut self) -> &mut Self {
        self.sends([])
    }

    /// An acknowledgement of all before that segment, with SACK blocks, most recent first.
    fn sack(&mut self, next: u64, blocks: &[(u64, u64)]) -> &mut Self {
        let segment = Segment {
            ack: next * 1000,
            window: 1 << 30,
            flags: self.flags,
            sack: blocks.iter().map(|(start, end)| ByteRange::new(start * 1000, end * 1000)).collect(),
            ..Segment::default()
        };
        self.receive(&segment)
    }

    fn receive(&mut self, segment: &Segment) -> &mut Self {
        self.sender.handle_segment(self.now, segment);
        self
    }

    fn ack(&mut self, next: u64) -> &mut Self {
        self.sack(next, &[])
    }

    /// Jumps to the next deadline.
    fn timeout(&mut self) -> &mut Self {
        self.now = self.sender.poll_timeout().expect("a timer runs");
        self.sender.handle_timeout(self.now);
        self
    }

    /// Brings a sender to a window of `count` segments, all outstanding, none lost: numbers `0..count`.
    fn fill(config: TcpConfig, count: u32) -> Self {
        let mut config = config;
        config.window.initial = whimbrel_control::window::InitialWindow::Segments(count);
        let mut script = Self::new(config);
        script.sends(0..u64::from(count));
        script.wait(100);
        script
    }
}
