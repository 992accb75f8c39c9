//! Datagrams that wait for congestion control, by urgency: commands before values, values before media, media
//! before bulk.
//!
//! A lane that waits while a more urgent one is served gets a share of what that sends, so that it is never
//! starved. Bulk data leaves only while the path has no queue, apart from that share and from one datagram a
//! second: what is urgent would have to wait there as well.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_units::{DataRate, Duration, Instant};

use super::flow_kind::Kind;
use super::ledger::Reason;
use super::queue::{Drops, Queue, Waiting};
use super::stream::{Keys, Lane};
use whimbrel_net::Mark;

/// Each lane's share of the bytes of more urgent ones while it waits, in parts of [`WHOLE`].
const SHARES: [usize; 4] = [0, 8, 4, 1];
const WHOLE: usize = 32;
/// Ages at which commands, values that nothing has replaced, and bulk data are useless.
const COMMAND_AGE: Duration = Duration::from_secs(5);
const VALUE_AGE: Duration = Duration::from_secs(5);
const BULK_AGE: Duration = Duration::from_secs(30);
/// The most commands, values and datagrams of bulk that wait, and bytes of each of the three. A vehicle may
/// send a list of a thousand parameters at once.
const MOST: [usize; 3] = [1024, 256, 1024];
const MOST_BYTES: usize = 1 << 20;
/// Time after which bulk data leaves although the path has a queue.
const BULK_PAUSE: Duration = Duration::from_secs(1);
/// Time for which an end that has sent commands or values keeps the transport's queue short, and the
/// longest time between two values that are worth it: a heartbeat each second is not.
const URGENT_TIME: Duration = Duration::from_secs(2);
const OFTEN: Duration = Duration::from_millis(500);
/// Room that is kept when nothing waits.
const KEPT: usize = 4;

/// A datagram that leaves.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) waiting: Waiting,
    pub(crate) lane: Lane,
    /// Time until which it is worth sending.
    pub(crate) deadline: Instant,
    /// The keys of its values, and which of them it has the newest of.
    keys: (Keys, u16),
}

/// A datagram of another lane than media.
#[derive(Debug)]
struct Plain {
    bytes: Bytes,
    arrived: Instant,
    keys: Keys,
    /// A bit for each key of which this is the newest value.
    newest: u16,
}

#[derive(Debug, Default)]
struct Plains {
    waiting: VecDeque<Plain>,
    bytes: usize,
}

impl Plains {
    fn remove(&mut self, index: usize) -> Option<Plain> {
        let removed = self.waiting.remove(index)?;
        self.bytes -= removed.bytes.len();
        Some(removed)
    }

    fn push(&mut self, index: usize, plain: Plain) {
        self.bytes += plain.bytes.len();
        self.waiting.insert(index, plain);
    }
}

/// Datagrams that wait for congestion control.
#[derive(Debug)]
pub(crate) struct Lanes {
    media: Queue,
    /// Commands, values and bulk data.
    plains: [Plains; 3],
    /// Bytes that the lanes may send before more urgent ones, times [`WHOLE`], and what they were before the
    /// last one was taken.
    credit: [usize; 4],
    credit_before: [usize; 4],
    /// Too many commands are under way for another one to leave.
    holds_commands: bool,
    /// When bulk data left last, and before that.
    bulk_taken: [Instant; 2],
    /// When the last command or value came, and the last one for whose sake the transport's queue is short.
    last_plain: Option<Instant>,
    urgent: Option<Instant>,
    drops: Drops,
}

/// The place of a lane among those without media.
fn place(lane: Lane) -> Option<usize> {
    match lane {
        Lane::Command => Some(0),
        Lane::Newest => Some(1),
        Lane::Bulk => Some(2),
        Lane::Media => None,
    }
}

fn age(lane: Lane) -> Duration {
    match lane {
        Lane::Command => COMMAND_AGE,
        Lane::Newest | Lane::Media => VALUE_AGE,
        Lane::Bulk => BULK_AGE,
    }
}

impl Lanes {
    pub(crate) fn new(stale: Duration) -> Self {
        Self {
            media: Queue::new(stale),
            plains: Default::default(),
            credit: [0; 4],
            credit_before: [0; 4],
            holds_commands: false,
            bulk_taken: [Instant::ZERO; 2],
            last_plain: None,
            urgent: None,
            drops: Drops::default(),
        }
    }

    pub(crate) fn take_drops(&mut self, into: &mut Drops) {
        self.media.take_drops(into);
        self.drops.append_to(into);
    }

    /// A stream whose encoder should be asked for a key frame.
    pub(crate) fn take_start(&mut self) -> Option<u64> {
        self.media.take_start()
    }

    pub(crate) fn len(&self) -> usize {
        self.media.len() + self.plains.iter().map(|plains| plains.waiting.len()).sum::<usize>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.media.bytes() + self.plains.iter().map(|plains| plains.bytes).sum::<usize>()
    }

    /// Age of the oldest, without bulk data.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        let plains = self.plains[..2].iter().flat_map(|plains| &plains.waiting);
        let oldest = plains.map(|plain| now.saturating_since(plain.arrived)).max();
        self.media.age(now).max(oldest.unwrap_or_default())
    }

    pub(crate) fn set_rate(&mut self, allowed: Option<DataRate>) {
        self.media.set_rate(allowed);
    }

    pub(crate) fn set_budget(&mut self, budget: Option<Duration>) {
        self.media.set_budget(budget);
    }

    /// Holds commands: too many are under way.
    pub(crate) fn hold_commands(&mut self, holds: bool) {
        self.holds_commands = holds;
    }

    /// `true` if a command, or values that change often, were sent of late.
    pub(crate) fn is_urgent(&self, now: Instant) -> bool {
        self.urgent.is_some_and(|last| now.saturating_since(last) < URGENT_TIME)
    }

    /// Adds a datagram of a stream of media.
    pub(crate) fn push_media(&mut self, datagram: Waiting) {
        self.media.push(datagram);
    }

    /// Adds a datagram of another lane. A value takes the place of the older ones that it replaces, so that
    /// each has its turn, however often it changes.
    pub(crate) fn push(&mut self, now: Instant, lane: Lane, keys: Keys, bytes: Bytes) {
        let Some(place) = place(lane) else {
            return self.media.push(Waiting { bytes, kind: Kind::Other, mark: Mark::SINGLE, arrived: now });
        };
        if lane < Lane::Media {
            let before = self.last_plain.replace(now);
            if lane == Lane::Command || before.is_some_and(|before| now.saturating_since(before) < OFTEN) {
                self.urgent = Some(now);
            }
        }
        let plains = &mut self.plains[place];
        let mut index = plains.waiting.len();
        if lane == Lane::Newest {
            let (mut at, mut freed, mut after) = (0, None, 0);
            while let Some(older) = plains.waiting.get_mut(at) {
                let shared = older.keys.shared(&keys);
                older.newest &= !shared;
                if shared != 0 && older.newest == 0 {
                    if let Some(older) = plains.remove(at) {
                        self.drops.add(&older.bytes, lane, Reason::Superseded);
                    }
                    freed = freed.or(Some(at));
                    continue;
                }
                at += 1;
                // An older value leaves with others of its datagram: this one has to follow.
                after = if shared != 0 { at } else { after };
            }
            index = freed.map_or(at, |freed| freed.max(after));
        }
        let most = MOST[place];
        while plains.waiting.len() >= most || plains.bytes + bytes.len() > MOST_BYTES {
            // Data missing at the end tell a program that it sends bulk data faster than the path carries.
            let oldest = if lane == Lane::Bulk { None } else { plains.remove(0) };
            self.drops.add(oldest.as_ref().map_or(&bytes, |oldest| &oldest.bytes), lane, Reason::Overflow);
            if oldest.is_none() {
                return;
            }
            index = index.saturating_sub(1);
        }
        plains
            .push(index.min(plains.waiting.len()), Plain { bytes, arrived: now, newest: keys.bits(), keys });
    }

    /// Drops what is not worth sending any more.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.media.expire(now);
        for lane in Lane::ALL {
            let Some(place) = place(lane) else { continue };
            let plains = &mut self.plains[place];
            // A value that replaces others is in their place, and may be newer than those behind it.
            let looked_at = if lane == Lane::Newest { usize::MAX } else { 1 };
            let is_old = |plain: &Plain| plain.arrived + age(lane) <= now;
            while let Some(old) = plains.waiting.iter().take(looked_at).position(is_old) {
                if let Some(old) = plains.remove(old) {
                    self.drops.add(&old.bytes, lane, Reason::Stale);
                }
            }
        }
    }

    /// The size of the datagram of a lane that may leave now.
    fn ready(&self, now: Instant, lane: Lane) -> Option<usize> {
        let Some(place) = place(lane) else { return self.media.next_size() };
        let next = self.plains[place].waiting.front()?.bytes.len();
        let is_open = match lane {
            Lane::Command => !self.holds_commands,
            Lane::Bulk => {
                self.media.is_path_free()
                    || now.saturating_since(self.bulk_taken[0]) >= BULK_PAUSE
                    || self.has_credit(lane, next)
            }
            Lane::Newest | Lane::Media => true,
        };
        is_open.then_some(next)
    }

    fn has_credit(&self, lane: Lane, size: usize) -> bool {
        self.credit[lane as usize] >= size * WHOLE
    }

    /// `true` if a datagram may leave now.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        Lane::ALL.into_iter().any(|lane| self.ready(now, lane).is_some())
    }

    /// Takes the datagram that leaves next.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Next> {
        self.expire(now);
        let ready = Lane::ALL.map(|lane| self.ready(now, lane));
        let waits = |lane: &Lane| ready[*lane as usize];
        let first = Lane::ALL.into_iter().find(|lane| waits(lane).is_some())?;
        let owed =
            Lane::ALL.into_iter().find(|lane| waits(lane).is_some_and(|size| self.has_credit(*lane, size)));
        let lane = owed.unwrap_or(first);
        let next = self.take(now, lane)?;
        self.credit_before = self.credit;
        self.charge(lane, next.waiting.bytes.len());
        Some(next)
    }

    /// Takes the next command or value, of at most `room` bytes, that leaves together with the datagram taken
    /// last.
    pub(crate) fn pop_with(&mut self, now: Instant, room: usize) -> Option<Next> {
        let ready = |lane: &Lane| self.ready(now, *lane);
        let lane = [Lane::Command, Lane::Newest].into_iter().find(|lane| ready(lane).is_some())?;
        let size = ready(&lane).filter(|size| *size <= room)?;
        let next = self.take(now, lane)?;
        self.charge(lane, size);
        Some(next)
    }

    /// A datagram of a lane leaves: it costs credit, and others that wait get their share.
    fn charge(&mut self, lane: Lane, size: usize) {
        self.credit[lane as usize] = self.credit[lane as usize].saturating_sub(size * WHOLE);
        for other in Lane::ALL {
            let waits = match place(other) {
                Some(place) => !self.plains[place].waiting.is_empty(),
                None => !self.media.is_empty(),
            };
            let credit = &mut self.credit[other as usize];
            match (waits, other > lane) {
                (true, true) => *credit += size * SHARES[other as usize],
                (false, _) => *credit = 0,
                (true, false) => {}
            }
        }
    }

    fn take(&mut self, now: Instant, lane: Lane) -> Option<Next> {
        let Some(place) = place(lane) else {
            let waiting = self.media.pop(now)?;
            let deadline = self.media.deadline(&waiting);
            return Some(Next { waiting, lane, deadline, keys: Default::default() });
        };
        let Plain { bytes, arrived, keys, newest } = self.plains[place].remove(0)?;
        if lane == Lane::Bulk {
            self.bulk_taken = [now, self.bulk_taken[0]];
        }
        let waiting = Waiting { bytes, kind: Kind::Other, mark: Mark::SINGLE, arrived };
        Some(Next { waiting, lane, deadline: arrived + age(lane), keys: (keys, newest) })
    }

    /// Returns the datagram that was taken last and could not be sent yet, and then those taken before it to
    /// leave together, latest first.
    pub(crate) fn put_back(&mut self, next: Next) {
        self.credit = self.credit_before;
        let Next { waiting, lane, keys: (keys, newest), .. } = next;
        let Some(place) = place(lane) else { return self.media.put_back(waiting) };
        if lane == Lane::Bulk {
            self.bulk_taken = [self.bulk_taken[1]; 2];
        }
        let Waiting { bytes, arrived, .. } = waiting;
        self.plains[place].push(0, Plain { bytes, arrived, keys, newest });
    }

    /// Returns memory that a burst has left behind.
    pub(crate) fn shrink(&mut self) {
        self.media.shrink();
        self.plains.iter_mut().for_each(|plains| plains.waiting.shrink_to(KEPT));
    }
}

#[cfg(test)]
mod tests;
