//! Hairpin: coded packets in addition to the data of each round, chosen by the number of rounds left.
//!
//! A round sends what is missing and some coded packets; if it loses more in all than the coded packets, the
//! lost data remains. The choice weighs the probability that the frame is late against the coded packets, by
//! dynamic programming from the last round back.

use std::collections::BTreeMap;
use std::sync::Arc;

use whimbrel_units::{Duration, Instant};

use super::history::History;
use super::loss_reports::ReportingReceiver;
use super::probing::Probing;
use super::{Datagram, End, Ends, Message, Output, nack};

/// The price of a frame's worth of coded packets, in frames.
pub const PRICE: f64 = 1e-4;
/// Rounds beyond which the choice does not change.
const MOST_ROUNDS: usize = 8;
/// Frames are planned as if they had a number of datagrams between these.
const FRAME: (usize, usize) = (5, 55);
/// Loss is planned for in whole percent, at most this.
const MOST_LOSS: u32 = 50;
/// The time between reports, which are averaged with this weight.
const REPORTS: Duration = Duration::from_millis(100);
const WEIGHT: f64 = 0.1;
/// The round-trip time before one is measured.
const FIRST_RTT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(50));

/// The ends for a latency.
pub fn ends(latency: Duration) -> Ends {
    let sender = Sender {
        latency,
        history: History::new(latency, u32::MAX),
        probing: Probing::new(REPORTS, FIRST_RTT),
        loss: 0.0,
        frame: Vec::new(),
        plans: BTreeMap::new(),
    };
    let receiver = ReportingReceiver::new(nack::Receiver::with_reports(REPORTS), REPORTS);
    [Box::new(sender), Box::new(receiver)]
}

/// The coded packets for each number of missing datagrams and of rounds left.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By the rounds left from one on, and by the missing datagrams.
    coded: Vec<Vec<usize>>,
    cost: Vec<Vec<f64>>,
}

/// Probabilities of a number of successes.
fn binomial(trials: usize, probability: f64) -> Vec<f64> {
    let mut mass = vec![1.0];
    for _ in 0..trials {
        let mut next = vec![0.0; mass.len() + 1];
        for (count, share) in mass.iter().enumerate() {
            next[count] += share * (1.0 - probability);
            next[count + 1] += share * probability;
        }
        mass = next;
    }
    mass
}

impl Plan {
    /// The plan for frames of so many datagrams, with that loss and price.
    pub fn new(frame: usize, loss: f64, price: f64, rounds: usize) -> Self {
        let ratios = (0..20).map(|step| f64::from(step) / 20.0).chain((1..=5).map(f64::from));
        let ratios: Vec<f64> = ratios.collect();
        let mut cost = vec![vec![1.0; frame + 1]];
        cost[0][0] = 0.0;
        let mut coded = Vec::new();
        let lost: Vec<Vec<f64>> = (0..=frame).map(|missing| binomial(missing, loss)).collect();
        let within: Vec<Vec<f64>> = (0..=5 * frame)
            .map(|sent| {
                let sum = |total: &mut f64, mass| {
                    *total += mass;
                    Some(*total)
                };
                binomial(sent, loss).into_iter().scan(0.0, sum).collect()
            })
            .collect();
        for round in 0..rounds {
            let (mut best_coded, mut best_cost) = (vec![0], vec![0.0]);
            for (missing, lost) in lost.iter().enumerate().take(frame + 1).skip(1) {
                let value = |redundant: usize| {
                    let remain = (1..=missing).map(|left| {
                        let fails =
                            redundant.checked_sub(left).map_or(1.0, |few| 1.0 - within[redundant][few]);
                        lost[left] * fails * cost[round][left]
                    });
                    remain.sum::<f64>() + price * redundant as f64 / frame as f64
                };
                let choices = ratios.iter().map(|ratio| (ratio * missing as f64 - 1e-9).ceil() as usize);
                let choices = choices.map(|redundant| (redundant, value(redundant)));
                let best = choices.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
                best_coded.push(best.0);
                best_cost.push(best.1);
            }
            coded.push(best_coded);
            cost.push(best_cost);
        }
        Self { coded, cost }
    }

    /// Coded packets for so many missing datagrams while so many rounds are left.
    pub fn coded(&self, rounds: usize, missing: usize) -> usize {
        let Some(row) = self.coded.get(rounds.wrapping_sub(1)).or(self.coded.last()) else { return 0 };
        row.get(missing).or(row.last()).copied().unwrap_or(0)
    }

    /// The least of the objective: the probability of a late frame and the price of the coded packets.
    pub fn cost(&self, rounds: usize, missing: usize) -> f64 {
        self.cost[rounds][missing]
    }
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    latency: Duration,
    history: History,
    probing: Probing,
    loss: f64,
    frame: Vec<Datagram>,
    /// By the loss in percent and the datagrams of a frame.
    plans: BTreeMap<(u32, usize), Plan>,
}

impl Sender {
    /// Coded packets of a frame of which so many datagrams are missing.
    fn coded(&mut self, now: Instant, of: Datagram, missing: usize) -> usize {
        let rtt = self.probing.rtt();
        // To the deadline at the receiving end, one way later.
        let left = (of.captured + self.latency + rtt / 2).saturating_since(now);
        let rounds = ((left.as_secs_f64() / rtt.as_secs_f64().max(1e-3)) as usize).clamp(1, MOST_ROUNDS);
        let percent = ((self.loss * 100.0).round() as u32).min(MOST_LOSS);
        let frame = (of.part.count as usize).clamp(FRAME.0, FRAME.1);
        let plan = || Plan::new(frame, f64::from(percent) / 100.0, PRICE, MOST_ROUNDS);
        self.plans.entry((percent, frame)).or_insert_with(plan).coded(rounds, missing)
    }

    fn protect(members: Arc<[Datagram]>, coded: usize, out: &mut Output) {
        let size = members.iter().map(|member| member.size).max().unwrap_or(0);
        out.messages.extend((0..coded).map(|_| Message::Parity { members: Arc::clone(&members), size }));
    }

    /// The datagrams of a frame that are kept.
    fn members(&self, of: Datagram) -> Arc<[Datagram]> {
        let first = of.number - u64::from(of.part.index);
        (first..first + u64::from(of.part.count)).filter_map(|number| self.history.get(number)).collect()
    }
}

impl End for Sender {
    fn send(&mut self, now: Instant, datagram: Datagram, out: &mut Output) {
        out.messages.push(Message::Data { datagram, is_repeat: false });
        self.history.insert(now, datagram);
        if datagram.part.index == 0 {
            self.frame.clear();
        }
        self.frame.push(datagram);
        if datagram.part.index + 1 == datagram.part.count {
            let coded = self.coded(now, datagram, self.frame.len());
            Self::protect(self.frame.drain(..).collect(), coded, out);
        }
    }

    fn handle(&mut self, now: Instant, message: Message, out: &mut Output) {
        match message {
            Message::Request(numbers) => {
                let mut missing: BTreeMap<u64, Vec<Datagram>> = BTreeMap::new();
                for number in numbers {
                    if let Some(datagram) = self.history.take(now, number, self.probing.rtt()) {
                        missing.entry(datagram.part.frame).or_default().push(datagram);
                    }
                }
                for datagrams in missing.into_values() {
                    let coded = self.coded(now, datagrams[0], datagrams.len());
                    let members = self.members(datagrams[0]);
                    let repeat = |datagram| Message::Data { datagram, is_repeat: true };
                    out.messages.extend(datagrams.into_iter().map(repeat));
                    Self::protect(members, coded, out);
                }
            }
            Message::Loss(share) => self.loss += (share - self.loss) * WEIGHT,
            Message::Probe { sent, rtt } => {
                self.probing.adopt(rtt);
                out.messages.push(Message::Echo { sent });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, ms};
    use super::*;

    #[test]
    fn the_choice_is_that_of_the_published_model() {
        // For 1, 2, 4, 8 and 20 missing datagrams of 20, with one and with two rounds left, and the objective
        // for 20.
        let published = [
            (0.01, [2, 2, 3, 3, 4], [0, 0, 0, 0, 0], [2.362685e-5, 2.054286e-6, 2.198475e-8]),
            (0.05, [4, 4, 4, 6, 8], [0, 0, 0, 1, 1], [4.564690e-5, 1.182903e-5, 9.937143e-7]),
            (0.20, [5, 8, 12, 16, 20], [1, 2, 2, 3, 7], [1.050273e-4, 4.573569e-5, 1.531285e-5]),
        ];
        for (loss, one, two, costs) in published {
            let plan = Plan::new(20, loss, PRICE, 3);
            let row = |rounds| [1, 2, 4, 8, 20].map(|missing| plan.coded(rounds, missing));
            assert_eq!((row(1), row(2), row(3)), (one, two, [0; 5]), "{loss}");
            for (rounds, cost) in (1..=3).zip(costs) {
                let found = plan.cost(rounds, 20);
                assert!((found / cost - 1.0).abs() < 1e-6, "{loss} {rounds}: {found:e}");
            }
        }
    }

    #[test]
    fn the_last_round_carries_coded_packets() {
        let parity = |latency| {
            let lost = |message: &Message| matches!(message, Message::Data { datagram, is_repeat: false } if datagram.number % 12 == 2);
            let mut channel = Channel::new(ends(ms(latency)), ms(20), lost);
            channel.run((0..400).map(datagram), at(6_000));
            // Before losses are reported, what has no round is lost.
            assert!(channel.delivered.len() >= 397, "{}", channel.delivered.len());
            channel.count(|message| matches!(message, Message::Parity { .. }))
        };
        // With one round left each frame has them, with two the repeats, and with more nothing.
        let (one, two) = (parity(30), parity(70));
        assert!(one > 200 && (40..150).contains(&two), "{one} {two}");
        assert_eq!(parity(400), 0);
    }
}
