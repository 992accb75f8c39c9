//! wfb-ng: blocks of a fixed number of datagrams and of coded packets, without requests and without a clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use whimbrel_units::Instant;

use super::{Datagram, End, Ends, Message, Output};

/// Datagrams of a block, and packets of a block in all, for video.
pub const VIDEO: (usize, usize) = (8, 12);
/// Blocks that the receiving end keeps.
const RING: u64 = 40;

/// The ends with blocks of `data` datagrams and `packets` in all.
pub fn ends((data, packets): (usize, usize)) -> Ends {
    let sender = Sender { data, parity: packets - data, block: Vec::new() };
    let receiver = Receiver { data: data as u64, oldest: 0, next: 0, blocks: BTreeMap::new() };
    [Box::new(sender), Box::new(receiver)]
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    data: usize,
    parity: usize,
    block: Vec<Datagram>,
}

impl End for Sender {
    fn send(&mut self, _: Instant, datagram: Datagram, out: &mut Output) {
        out.messages.push(Message::Data { datagram, is_repeat: false });
        self.block.push(datagram);
        if self.block.len() == self.data {
            let size = self.block.iter().map(|datagram| datagram.size).max().unwrap_or(0);
            let members: Arc<[Datagram]> = self.block.drain(..).collect();
            let parity = || Message::Parity { members: Arc::clone(&members), size };
            out.messages.extend((0..self.parity).map(|_| parity()));
        }
    }

    fn handle(&mut self, _: Instant, _: Message, _: &mut Output) {}
}

/// Arrivals of a block.
#[derive(Debug, Default)]
struct Block {
    data: BTreeMap<u64, Datagram>,
    parity: usize,
    members: Option<Arc<[Datagram]>>,
}

/// The receiving end.
#[derive(Debug)]
struct Receiver {
    data: u64,
    /// The oldest block that is not complete, and the next datagram of it to be delivered.
    oldest: u64,
    next: u64,
    blocks: BTreeMap<u64, Block>,
}

impl Receiver {
    /// Delivers what there is of all blocks before `block`, with gaps.
    fn flush(&mut self, block: u64, out: &mut Output) {
        let newer = self.blocks.split_off(&block);
        let older = std::mem::replace(&mut self.blocks, newer);
        let next = self.next;
        let datagrams = older.into_values().flat_map(|block| block.data.into_values());
        out.delivered.extend(datagrams.filter(|datagram| datagram.number >= next));
        self.oldest = block;
        self.next = self.next.max(block * self.data);
    }

    fn advance(&mut self, index: u64, out: &mut Output) {
        let Some(block) = self.blocks.get_mut(&index) else { return };
        if let Some(members) =
            block.members.take_if(|_| block.data.len() + block.parity >= self.data as usize)
        {
            block.data = members.iter().map(|member| (member.number, *member)).collect();
        }
        let is_complete = block.data.len() as u64 == self.data;
        if is_complete && index > self.oldest {
            self.flush(index, out);
        }
        // In order, from the oldest block on.
        while let Some(block) = self.blocks.get(&self.oldest) {
            while let Some(datagram) = block.data.get(&self.next) {
                out.delivered.push(*datagram);
                self.next += 1;
            }
            if self.next < (self.oldest + 1) * self.data {
                return;
            }
            self.blocks.remove(&self.oldest);
            self.oldest += 1;
        }
    }
}

impl End for Receiver {
    fn handle(&mut self, _: Instant, message: Message, out: &mut Output) {
        let first = match &message {
            Message::Data { datagram, .. } => datagram.number,
            Message::Parity { members, .. } => members[0].number,
            _ => return,
        };
        let index = first / self.data;
        if index < self.oldest {
            return;
        }
        if index >= self.oldest + RING {
            self.flush(index + 1 - RING, out);
        }
        let block = self.blocks.entry(index).or_default();
        match message {
            Message::Data { datagram, .. } => drop(block.data.insert(datagram.number, datagram)),
            Message::Parity { members, .. } => {
                block.parity += 1;
                block.members = Some(members);
            }
            _ => {}
        }
        self.advance(index, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Channel, at, datagram, ms};
    use super::*;

    fn channel(lost: &'static [u64]) -> Channel {
        let lost = move |message: &Message| matches!(message, Message::Data { datagram, .. } if lost.contains(&datagram.number));
        let mut channel = Channel::new(ends(VIDEO), ms(20), lost);
        channel.run((0..80).map(datagram), at(2_000));
        channel
    }

    #[test]
    fn half_as_many_coded_packets_as_datagrams_are_sent_always() {
        let channel = channel(&[]);
        assert_eq!(channel.count(|message| matches!(message, Message::Parity { .. })), 40);
        assert!(channel.delivered.iter().all(|(at, datagram)| *at == datagram.captured + ms(20)));
    }

    #[test]
    fn four_losses_of_a_block_are_restored_and_delivered_in_order_after_it() {
        let channel = channel(&[16, 17, 18, 19]);
        let numbers: Vec<u64> = channel.delivered.iter().map(|(_, datagram)| datagram.number).collect();
        assert_eq!(numbers, (0..80).collect::<Vec<_>>());
        // Block 2 ends with number 23, captured at 200 ms.
        assert!(channel.delivered[16..24].iter().all(|(arrived, _)| *arrived == at(220)));
    }

    #[test]
    fn a_block_that_lost_more_waits_for_the_next_to_be_complete() {
        let channel = channel(&[16, 17, 18, 19, 20]);
        assert_eq!(channel.delivered.len(), 75);
        // Numbers 21 to 23 are delivered when block 3 has eight packets: its last datagram is number 31,
        // captured at 280 ms.
        let (arrived, _) = channel.delivered.iter().find(|(_, datagram)| datagram.number == 21).expect("21");
        assert_eq!(*arrived, at(300));
    }
}
