//! Tambur: parity of each frame over the last frames, at a rate that follows reports of losses.
//!
//! The models that choose a lower rate are not published, so that any loss leads to the full one. The code is
//! ideal.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_units::{Duration, Instant};

use super::loss_reports::LossReports;
use super::solver::Solver;
use super::{Datagram, End, Ends, Message, Output};

/// Frames that a parity packet covers besides its own.
const DELAY: usize = 3;
/// Coded packets per datagram of a frame, after losses.
const FULL_RATE: f64 = 0.5;
/// The time between reports.
const REPORTS: Duration = Duration::from_secs(2);
/// Most coded packets of a frame.
const MOST_PARITY: usize = 32;

/// The ends.
pub fn ends() -> Ends {
    [Box::new(Sender::default()), Box::new(Receiver::default())]
}

/// The sending end.
#[derive(Debug, Default)]
struct Sender {
    rate: f64,
    /// The frames that the next parity covers, the last one unfinished.
    frames: VecDeque<Vec<Datagram>>,
}

impl End for Sender {
    fn send(&mut self, _: Instant, datagram: Datagram, out: &mut Output) {
        out.messages.push(Message::Data { datagram, is_repeat: false });
        if datagram.part.index == 0 {
            self.frames.push_back(Vec::new());
            while self.frames.len() > DELAY + 1 {
                self.frames.pop_front();
            }
        }
        let Some(frame) = self.frames.back_mut() else { return };
        frame.push(datagram);
        if datagram.part.index + 1 < datagram.part.count {
            return;
        }
        let parity = ((frame.len() as f64 * self.rate).ceil() as usize).min(MOST_PARITY);
        if parity > 0 {
            let members: Arc<[Datagram]> = self.frames.iter().flatten().copied().collect();
            let size = members.iter().map(|member| member.size).max().unwrap_or(0);
            out.messages.extend((0..parity).map(|_| Message::Parity { members: Arc::clone(&members), size }));
        }
    }

    fn handle(&mut self, _: Instant, message: Message, _: &mut Output) {
        if let Message::Loss(share) = message {
            self.rate = if share > 0.0 { FULL_RATE } else { 0.0 };
        }
    }
}

/// The receiving end.
#[derive(Debug, Default)]
struct Receiver {
    solver: Solver,
    reports: LossReports,
}

impl End for Receiver {
    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Data { datagram, .. } => {
                self.reports.count(datagram.number);
                let mut restored = Vec::new();
                if self.solver.insert(datagram, &mut restored) {
                    out.delivered.push(datagram);
                    out.delivered.append(&mut restored);
                }
            }
            Message::Parity { members, .. } => self.solver.equation(&members, &mut out.delivered),
            _ => {}
        }
        out.messages.extend(self.reports.poll(now, REPORTS));
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, ms};
    use super::*;

    #[test]
    fn parity_follows_the_reports_and_restores_a_frame_from_the_next_ones() {
        // Frame 10 is lost, and from 4 s on nothing; frame 60 loses three of four.
        let lost = |message: &Message| matches!(message, Message::Data { datagram, .. } if [40, 41, 240, 241, 242].contains(&datagram.number));
        let mut channel = Channel::new(ends(), ms(50), lost);
        channel.run((0..800).map(datagram), at(9_000));
        let parity: Vec<Instant> = channel
            .sent
            .iter()
            .filter(|(_, _, message)| matches!(message, Message::Parity { .. }))
            .map(|(at, ..)| *at)
            .collect();
        // The reports leave 2, 4 and 6 s after the first arrival at 50 ms; the one at about 2 s and that at 4
        // s reveal losses.
        assert!(parity[0] > at(2_099) && parity[0] < at(2_200), "{:?}", parity[0]);
        assert!(*parity.last().expect("parity") < at(6_300));
        // Half of 4: two of each frame, of 40 ms.
        let frames = (6_100 - 2_100) / 40;
        assert!((parity.len() as i64 - 2 * frames).abs() < 12, "{}", parity.len());
        // Frame 60 is captured at 2.4 s; its two packets of parity and one of the next frame restore it.
        let (arrived, _) =
            channel.delivered.iter().find(|(_, datagram)| datagram.number == 240).expect("240");
        assert_eq!(*arrived, at(2_400 + 40 + 50));
        assert_eq!(channel.delivered.len(), 798);
    }
}
