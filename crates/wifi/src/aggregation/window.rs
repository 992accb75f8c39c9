//! The sender's MPDUs for one receiver and traffic class.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{AggregateLimits, BlockAck, DELIMITER_BYTES, QOS_OVERHEAD_BYTES, amsdu_bytes, sequence_after};
use crate::phy::Mode;

/// A packet (MSDU).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Packet {
    /// The driver's handle.
    pub handle: u64,
    /// Length with LLC and SNAP headers, in bytes.
    pub size: u32,
}

/// An MPDU of a transmission.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Mpdu {
    /// The sequence number.
    pub sequence: u16,
    /// `true` if it was sent before.
    pub is_retry: bool,
    /// Packets in it; more than one form an A-MSDU.
    pub packets: u16,
    /// Length with header and frame check sequence.
    pub size: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Neither acknowledged nor given up.
    Open,
    /// A part of the last transmission.
    OnAir,
    /// Acknowledged or given up.
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    mpdu: Mpdu,
    tries: u16,
    state: State,
}

/// Room in a transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// The mode; `None` for a rate of OFDM, which carries one MPDU.
    pub mode: Option<Mode>,
    /// The longest A-MPDU in bytes; 0 for none.
    pub psdu: u32,
    /// The longest MPDU that goes alone.
    pub single: u32,
}

/// Fate of a packet at the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The MPDU was acknowledged.
    Acknowledged,
    /// The MPDU was given up after as many transmissions as the limit has.
    GivenUp,
}

/// The packets for one receiver and traffic class: a window of MPDUs with sequence numbers, from the oldest
/// one that is neither acknowledged nor given up, and the packets that were never sent.
#[derive(Clone, Debug, Default)]
pub struct TransmitWindow {
    /// The number of the first MPDU of the window.
    start: u16,
    entries: VecDeque<Entry>,
    /// The packets of the entries, in their order.
    parts: VecDeque<Packet>,
    unsent: VecDeque<Packet>,
    /// Entries that are not done.
    open: usize,
}

impl TransmitWindow {
    /// The first number that is neither acknowledged nor given up.
    pub const fn start(&self) -> u16 {
        self.start
    }

    /// Packets that were never sent, and packets of MPDUs in the window.
    pub fn packets(&self) -> usize {
        self.unsent.len() + self.parts.len()
    }

    /// `true` if there is something to send.
    pub fn has_traffic(&self) -> bool {
        self.open > 0 || !self.unsent.is_empty()
    }

    /// Adds a packet.
    pub fn push(&mut self, packet: Packet) {
        self.unsent.push_back(packet);
    }

    /// Chooses the MPDUs of a transmission and appends them with their packets: those to be repeated first,
    /// in order, then new ones as far as the window reaches. Returns the length of the A-MPDU in bytes,
    /// without delimiters if it has one MPDU only; 0 if nothing fits.
    pub fn build(
        &mut self,
        limits: &AggregateLimits,
        room: Room,
        mpdus: &mut Vec<Mpdu>,
        packets: &mut Vec<Packet>,
    ) -> u32 {
        let mut filling = Filling { limits, room, next: 0, length: 0, count: 0 };
        let mut part = 0;
        for entry in &mut self.entries {
            if entry.state != State::Done {
                if !filling.take(entry.mpdu.size) {
                    return filling.length;
                }
                entry.state = State::OnAir;
                mpdus.push(Mpdu { is_retry: entry.tries > 0, ..entry.mpdu });
                packets.extend(self.parts.range(part..part + usize::from(entry.mpdu.packets)));
            }
            part += usize::from(entry.mpdu.packets);
        }
        while self.entries.len() < usize::from(filling.window())
            && let Some((count, body)) = self.next_msdus(limits, &filling)
        {
            let mpdu = Mpdu {
                sequence: sequence_after(self.start, self.entries.len() as u16),
                is_retry: false,
                packets: count,
                size: body + QOS_OVERHEAD_BYTES,
            };
            if !filling.take(mpdu.size) {
                break;
            }
            for packet in self.unsent.drain(..usize::from(count)) {
                packets.push(packet);
                self.parts.push_back(packet);
            }
            mpdus.push(mpdu);
            self.entries.push_back(Entry { mpdu, tries: 0, state: State::OnAir });
            self.open += 1;
        }
        filling.length
    }

    /// The number of packets of the next new MPDU, and the length of its body. The first MPDU of a
    /// transmission is not made larger than there is room for.
    fn next_msdus(&self, limits: &AggregateLimits, filling: &Filling<'_>) -> Option<(u16, u32)> {
        let mut waiting = self.unsent.iter();
        let first = waiting.next()?.size;
        let longest = if filling.count == 0 {
            filling.room.single.saturating_sub(QOS_OVERHEAD_BYTES)
        } else {
            u32::MAX
        };
        let limit = limits.amsdu_bytes.min(longest);
        let (mut count, mut body) = (1, first);
        let mut bytes = amsdu_bytes(0, first);
        for packet in waiting {
            bytes = amsdu_bytes(bytes, packet.size);
            if bytes > limit {
                break;
            }
            (count, body) = (count + 1, bytes);
        }
        Some((count, body))
    }

    /// A block acknowledgement arrived: what it contains is acknowledged, and the rest of the last
    /// transmission has failed. Returns `true` if the window moves past an MPDU that was given up, of which
    /// the receiver is to learn.
    pub fn acknowledge(
        &mut self,
        block_ack: &BlockAck,
        retry_limit: Option<u16>,
        report: &mut dyn FnMut(u64, Fate, u16),
    ) -> bool {
        self.conclude(|sequence| block_ack.contains(sequence), retry_limit, report)
    }

    /// An acknowledgement arrived for the one MPDU of the last transmission.
    pub fn acknowledge_last(&mut self, report: &mut dyn FnMut(u64, Fate, u16)) {
        let last = self.entries.iter().find(|entry| entry.state == State::OnAir);
        let Some(sequence) = last.map(|entry| entry.mpdu.sequence) else { return };
        self.conclude(|other| other == sequence, None, report);
    }

    /// The last transmission got no response. Returns as [`acknowledge`](Self::acknowledge).
    pub fn fail(&mut self, retry_limit: Option<u16>, report: &mut dyn FnMut(u64, Fate, u16)) -> bool {
        self.conclude(|_| false, retry_limit, report)
    }

    /// The last transmission did not take place.
    pub fn withdraw(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::OnAir) {
            entry.state = State::Open;
        }
    }

    /// Gives all packets back, each with `true` if it was sent before. The next new MPDU has a number that no
    /// earlier one had.
    pub fn clear(&mut self, report: &mut dyn FnMut(Packet, bool)) {
        let mut part = 0;
        for entry in &self.entries {
            let parts = part..part + usize::from(entry.mpdu.packets);
            part = parts.end;
            if entry.state != State::Done {
                let was_sent = entry.tries > 0 || entry.state == State::OnAir;
                self.parts.range(parts).for_each(|packet| report(*packet, was_sent));
            }
        }
        self.unsent.drain(..).for_each(|packet| report(packet, false));
        self.start = sequence_after(self.start, self.entries.len() as u16);
        self.entries.clear();
        self.parts.clear();
        self.open = 0;
    }

    fn conclude(
        &mut self,
        is_received: impl Fn(u16) -> bool,
        retry_limit: Option<u16>,
        report: &mut dyn FnMut(u64, Fate, u16),
    ) -> bool {
        let mut part = 0;
        let mut has_given_up = false;
        for entry in &mut self.entries {
            let parts = part..part + usize::from(entry.mpdu.packets);
            part = parts.end;
            if entry.state == State::Done {
                continue;
            }
            entry.tries += u16::from(entry.state == State::OnAir);
            let fate = if is_received(entry.mpdu.sequence) {
                Fate::Acknowledged
            } else if retry_limit.is_some_and(|limit| entry.tries >= limit) {
                has_given_up = true;
                Fate::GivenUp
            } else {
                entry.state = State::Open;
                continue;
            };
            entry.state = State::Done;
            self.open -= 1;
            self.parts.range(parts).for_each(|packet| report(packet.handle, fate, entry.tries));
        }
        while self.entries.front().is_some_and(|entry| entry.state == State::Done)
            && let Some(entry) = self.entries.pop_front()
        {
            self.parts.drain(..usize::from(entry.mpdu.packets));
            self.start = sequence_after(self.start, 1);
        }
        has_given_up
    }
}

/// The state of a transmission while MPDUs are chosen.
struct Filling<'a> {
    limits: &'a AggregateLimits,
    room: Room,
    /// Beginning of the next subframe.
    next: u32,
    length: u32,
    count: u16,
}

impl Filling<'_> {
    const fn is_aggregate(&self) -> bool {
        self.room.psdu > 0 && self.room.mode.is_some()
    }

    const fn window(&self) -> u16 {
        if self.limits.ampdu_bytes > 0 { self.limits.window } else { 1 }
    }

    /// Takes an MPDU of this length into the transmission; `false` if it does not fit.
    fn take(&mut self, size: u32) -> bool {
        if self.count == 0 {
            if size > self.room.single {
                return false;
            }
            self.length = size;
        } else {
            let end = self.next + DELIMITER_BYTES + size;
            if !self.is_aggregate() || self.count >= self.window() || end > self.room.psdu {
                return false;
            }
            self.length = end;
        }
        self.next += self.room.mode.map_or(0, |mode| self.limits.step(mode, size));
        self.count += 1;
        true
    }
}

#[cfg(test)]
mod tests;
