//! Two senders that sense each other and never lose a frame.

/// Two saturated senders whose frames do not disturb each other's receivers: the exposed terminals. Every
/// backoff is drawn from the smallest window, so that the process is a Markov chain in the counter of the
/// sender that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharingPair {
    /// W: values of the backoff, `CWmin` + 1.
    pub window: u64,
    /// Slot time in nanoseconds.
    pub slot: u64,
    /// An exchange with the DIFS after it, in nanoseconds.
    pub exchange: u64,
    /// Time in nanoseconds that each sender waits beyond DIFS after an exchange of the other one: EIFS less
    /// DIFS if it cannot decode the other one's frames, else 0.
    pub extra: [u64; 2],
}

/// The sender that ended the last period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    Sender(usize),
    Both,
}

impl SharingPair {
    /// Exchanges per second of each sender in the stationary state.
    pub fn rates(&self) -> [f64; 2] {
        // The chain mixes within a few periods; the error after 1000 is far below the resolution of a double.
        const PERIODS: u32 = 1_000;
        let window = self.window as usize;
        // Probabilities by last sender and counter of the other one; the last row: both have sent.
        let mut state: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; window]);
        state[2][0] = 1.0;
        let mut sent = [0.0; 2];
        let mut time = 0.0;
        for _ in 0..PERIODS {
            let mut next: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; window]);
            (sent, time) = ([0.0; 2], 0.0);
            self.each_period(&state, |weight, idle, last, counter| {
                time += weight * (idle + self.exchange) as f64;
                let row = match last {
                    Last::Sender(sender) => {
                        sent[sender] += weight;
                        sender
                    }
                    Last::Both => {
                        sent.iter_mut().for_each(|sent| *sent += weight);
                        2
                    }
                };
                next[row][counter as usize] += weight;
            });
            state = next;
        }
        sent.map(|sent| sent / time * 1e9)
    }

    /// Enumerates the periods that may follow a state: probability, idle time, sender, counter of the one
    /// that waited.
    fn each_period(&self, state: &[Vec<f64>; 3], mut visit: impl FnMut(f64, u64, Last, u64)) {
        let draw = 1.0 / self.window as f64;
        for (row, weights) in state.iter().enumerate() {
            for (counter, &weight) in (0..).zip(weights).filter(|&(_, &weight)| weight > 0.0) {
                for fresh in 0..self.window {
                    if row == 2 {
                        for other in 0..self.window {
                            self.period([fresh, other], [0; 2], weight * draw * draw, &mut visit);
                        }
                        continue;
                    }
                    let waited = 1 - row;
                    let (mut counters, mut extra) = ([fresh; 2], [0; 2]);
                    counters[waited] = counter;
                    extra[waited] = self.extra[waited];
                    self.period(counters, extra, weight * draw, &mut visit);
                }
            }
        }
    }

    fn period(
        &self,
        counters: [u64; 2],
        extra: [u64; 2],
        weight: f64,
        visit: &mut impl FnMut(f64, u64, Last, u64),
    ) {
        let [first, second] = [0, 1].map(|sender| extra[sender] + counters[sender] * self.slot);
        if first == second {
            return visit(weight, first, Last::Both, 0);
        }
        let (winner, idle) = if first < second { (0, first) } else { (1, second) };
        let loser = 1 - winner;
        // Whole slots after the loser's own wait count.
        let counted = idle.saturating_sub(extra[loser]) / self.slot;
        visit(weight, idle, Last::Sender(winner), counters[loser] - counted);
    }
}
