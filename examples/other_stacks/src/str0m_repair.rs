//! Repair of the datagrams of a WebRTC data channel within a latency.
//!
//! str0m chooses the rate of media itself and takes no other law. Its data channels carry any datagrams.

use std::time::{Duration, Instant};

use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::{Rtc, RtcError};
use whimbrel_repair::{receiver::Receiver, sender::Sender};

/// A channel for repaired frames: SCTP neither repeats nor orders its messages.
pub fn channel() -> ChannelConfig {
    let reliability = Reliability::MaxRetransmits { retransmits: 0 };
    ChannelConfig { label: "frames".into(), ordered: false, reliability, ..ChannelConfig::default() }
}

/// An end of repair.
pub enum End {
    /// Sends frames.
    Sender(Sender),
    /// Delivers frames.
    Receiver(Receiver),
}

/// An end on a channel of a peer connection.
pub struct Repaired {
    /// The end.
    pub end: End,
    /// The channel, of `Event::ChannelOpen`.
    pub channel: ChannelId,
    /// The time of the first call.
    pub start: Instant,
}

impl Repaired {
    fn at(&self, now: Instant) -> whimbrel_units::Instant {
        whimbrel_units::Instant::ZERO + now.duration_since(self.start).into()
    }

    /// For `Event::ChannelData`.
    pub fn handle_data(&mut self, now: Instant, data: &[u8]) {
        let now = self.at(now);
        // A message of another protocol is ignored.
        let _ = match &mut self.end {
            End::Sender(sender) => sender.handle_packet(now, data),
            End::Receiver(receiver) => receiver.handle_packet(now, data),
        };
    }

    /// After each input and at each timeout: writes what repair has to send, and returns when to call again.
    pub fn drive(&mut self, now: Instant, rtc: &mut Rtc) -> Result<Option<Instant>, RtcError> {
        let (at, mut packet) = (self.at(now), Vec::new());
        loop {
            let has_packet = match &mut self.end {
                End::Sender(sender) => {
                    sender.handle_timeout(at);
                    sender.poll_transmit(at, &mut packet).is_some()
                }
                End::Receiver(receiver) => {
                    receiver.handle_timeout(at);
                    receiver.poll_transmit(at, &mut packet).is_some()
                }
            };
            let Some(mut channel) = rtc.channel(self.channel).filter(|_| has_packet) else { break };
            channel.write(true, &packet)?;
        }
        let next = match &self.end {
            End::Sender(sender) => sender.poll_timeout(),
            End::Receiver(receiver) => receiver.poll_timeout(),
        };
        Ok(next.map(|next| self.start + Duration::from(next - whimbrel_units::Instant::ZERO)))
    }
}
