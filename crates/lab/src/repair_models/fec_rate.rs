//! libwebrtc's share of parity (`media_opt_util`, `fec_controller_default`), with its requests.
//!
//! The share depends on the largest loss of ten seconds, through a table by bit rate. The row used here is
//! for 1280x720 at 4,608 kbit/s and 30 frames/s; values between its points are interpolated.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_units::{Duration, Instant};

use super::loss_reports::ReportingReceiver;
use super::{Datagram, End, Ends, Message, Output, nack};

/// The values of the table at losses in 255ths.
const TABLE: [(u32, u32); 7] = [(0, 0), (3, 51), (8, 55), (13, 86), (19, 108), (20, 111), (51, 127)];
/// Bounds of the value for a frame of more than one packet.
const LEAST: u32 = 51;
const MOST: u32 = 128;
/// Reports of a second each, of which the largest counts.
const REPORTS: Duration = Duration::from_secs(1);
const REMEMBERED: usize = 10;

/// The ends.
pub fn ends() -> Ends {
    let sender = Sender { requests: nack::Sender::default(), losses: VecDeque::new(), frame: Vec::new() };
    let receiver = ReportingReceiver::new(nack::Receiver::default(), REPORTS);
    [Box::new(sender), Box::new(receiver)]
}

/// The value of the table for a loss in 255ths.
fn value(loss: u32) -> u32 {
    let Some(above) = TABLE.iter().position(|(at, _)| *at >= loss) else { return TABLE[TABLE.len() - 1].1 };
    if above == 0 {
        return TABLE[0].1;
    }
    let ((left, low), (right, high)) = (TABLE[above - 1], TABLE[above]);
    low + (high - low) * (loss - left) / (right - left)
}

/// Parity packets for a frame of so many datagrams at a lost share.
pub fn parity(datagrams: usize, loss: f64) -> usize {
    let loss = (loss * 255.0).round() as u32;
    if loss == 0 {
        return 0;
    }
    let value = value(loss);
    let value = if datagrams > 1 { value.clamp(LEAST, MOST) } else { value.min(MOST) };
    let factor = (0.5 + f64::from(255 * value) / f64::from(255 - value)) as usize;
    ((datagrams * factor + 128) >> 8).max(1)
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    requests: nack::Sender,
    losses: VecDeque<f64>,
    frame: Vec<Datagram>,
}

impl End for Sender {
    fn send(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        self.requests.send(now, datagram, out);
        if datagram.part.index == 0 {
            self.frame.clear();
        }
        self.frame.push(datagram);
        if datagram.part.index + 1 < datagram.part.count {
            return;
        }
        let loss = self.losses.iter().copied().fold(0.0, f64::max);
        let members: Arc<[Datagram]> = self.frame.drain(..).collect();
        let size = members.iter().map(|member| member.size).max().unwrap_or(0);
        let coded = || Message::Parity { members: Arc::clone(&members), size };
        out.messages.extend((0..parity(members.len(), loss)).map(|_| coded()));
    }

    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        let Message::Loss(share) = message else { return self.requests.handle(now, message, out) };
        self.losses.push_back(share);
        if self.losses.len() > REMEMBERED {
            self.losses.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, ms};
    use super::*;

    #[test]
    fn the_parity_of_sixteen_datagrams_is_that_of_the_library() {
        let losses = [0.0, 0.01, 0.03, 0.05, 0.074, 0.08, 0.2];
        assert_eq!(losses.map(|loss| parity(16, loss)), [0, 4, 4, 8, 12, 12, 16]);
    }

    #[test]
    fn the_largest_loss_of_ten_seconds_counts() {
        let mut count = 0;
        // Every 13th datagram of the first four seconds is lost: 7.7 %.
        let lost = move |message: &Message| {
            count += 1;
            matches!(message, Message::Data { datagram, is_repeat: false } if datagram.number < 400 && datagram.number % 13 == 5)
                && count > 0
        };
        let mut channel = Channel::new(ends(), ms(20), lost);
        channel.run((0..2_400).map(datagram), at(24_100));
        let parity = |from, until| {
            let between = |(sent, _, message): &&(Instant, usize, Message)| {
                matches!(message, Message::Parity { .. }) && (at(from)..at(until)).contains(sent)
            };
            channel.sent.iter().filter(between).count()
        };
        // Three packets for a frame of four: 75 %.
        assert_eq!(parity(0, 1_000), 0);
        assert_eq!(parity(2_000, 3_000), 75);
        assert_eq!(parity(12_000, 13_000), 75);
        assert_eq!(parity(20_000, 21_000), 0);
        assert_eq!(channel.delivered.len(), 2_400);
    }
}
