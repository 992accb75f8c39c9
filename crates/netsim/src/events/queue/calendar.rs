//! A calendar queue (R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation
//! event set problem", CACM 31(10), 1988) in which every source has at most one entry.
//!
//! Time is cut into days of 2^`shift` ns. A day's entries are in one of the lists, in order; a list serves
//! every n-th day. The next event is the first entry of today's list, or of the next day that has any. The
//! length of a day follows the events' average distance, so that a day has a few. It decides how fast entries
//! are found, and never their order.

/// No source.
const NONE: u32 = u32::MAX;
/// Order of a source without an event: greater than every other.
pub(super) const NO_EVENT: u64 = u64::MAX;

/// The fewest lists: the bits of a word of `occupied`.
const LEAST_LISTS: usize = 64;
/// The first length of a day: 2^14 ns = 16 us.
const FIRST_SHIFT: u32 = 14;
/// The longest day: 2^40 ns = 18 minutes.
const LAST_SHIFT: u32 = 40;
/// Events from one review of the day's length to the next.
const REVIEW_INTERVAL: u32 = 4096;

/// A source's place in a list.
struct Entry {
    at: u64,
    /// Order among equal times; [`NO_EVENT`] if the source has no event.
    order: u64,
    next: u32,
    previous: u32,
}

/// The ends of a list.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: NONE, last: NONE };

/// The events of numbered sources by (time, order).
pub(super) struct Calendar {
    entries: Vec<Entry>,
    /// As many as a power of two.
    lists: Vec<List>,
    /// One bit for each list: it has entries.
    occupied: Vec<u64>,
    shift: u32,
    /// No entry is of a day before this one.
    today: u64,
    /// Events until the next review, and the time of the last one.
    until_review: u32,
    reviewed_at: u64,
}

impl Calendar {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            lists: vec![EMPTY; LEAST_LISTS],
            occupied: vec![0],
            shift: FIRST_SHIFT,
            today: 0,
            until_review: REVIEW_INTERVAL,
            reviewed_at: 0,
        }
    }

    /// Number of sources.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a source without an event.
    pub(super) fn add(&mut self) {
        self.entries.push(Entry { at: 0, order: NO_EVENT, next: NONE, previous: NONE });
        if self.entries.len() > self.lists.len() {
            self.rebuild();
        }
    }

    /// Gives a source its event, in the place of the one it may have had.
    #[inline]
    pub(super) fn set(&mut self, source: u32, at: u64, order: u64) {
        if self.entries[source as usize].order != NO_EVENT {
            self.unlink(source);
        }
        self.link(source, at, order);
    }

    /// Takes a source's event away.
    #[inline]
    pub(super) fn clear(&mut self, source: u32) {
        if self.entries[source as usize].order != NO_EVENT {
            self.unlink(source);
        }
    }

    /// The source of the first event, and its time; `None` without one.
    #[inline]
    pub(super) fn first(&mut self) -> Option<(u32, u64)> {
        let first = self.lists[self.list_of(self.today)].first;
        if let Some(entry) = self.entries.get(first as usize)
            && entry.at >> self.shift == self.today
        {
            return Some((first, entry.at));
        }
        self.search()
    }

    /// Takes the first event, as [`first`](Self::first) has just returned it.
    #[inline]
    pub(super) fn take(&mut self, source: u32, at: u64) {
        let index = self.list_of(at >> self.shift);
        let entry = &mut self.entries[source as usize];
        entry.order = NO_EVENT;
        let next = entry.next;
        let list = &mut self.lists[index];
        list.first = next;
        match self.entries.get_mut(next as usize) {
            Some(entry) => entry.previous = NONE,
            None => {
                list.last = NONE;
                self.occupied[index / 64] &= !(1 << (index % 64));
            }
        }
        self.until_review -= 1;
        if self.until_review == 0 {
            self.review(at);
        }
    }

    fn list_of(&self, day: u64) -> usize {
        day as usize & (self.lists.len() - 1)
    }

    #[inline]
    fn link(&mut self, source: u32, at: u64, order: u64) {
        let day = at >> self.shift;
        // A search for the next event may have gone ahead of the time at which the caller is.
        self.today = self.today.min(day);
        let index = self.list_of(day);
        let list = &mut self.lists[index];
        let previous = list.last;
        match self.entries.get_mut(previous as usize) {
            // Later events mostly come later, so the place is looked for from the end. Events at one time,
            // which come in the order of their insertion, are then appended however many there are.
            Some(last) if (last.at, last.order) < (at, order) => {
                last.next = source;
                list.last = source;
            }
            Some(_) => return self.link_before_last(source, at, order, index),
            None => {
                *list = List { first: source, last: source };
                self.occupied[index / 64] |= 1 << (index % 64);
            }
        }
        self.entries[source as usize] = Entry { at, order, next: NONE, previous };
    }

    /// The rest of [`Calendar::link`], where an entry of the list comes later.
    #[inline(never)]
    fn link_before_last(&mut self, source: u32, at: u64, order: u64, index: usize) {
        let mut next = self.lists[index].last;
        let mut previous = self.entries[next as usize].previous;
        while let Some(entry) = self.entries.get(previous as usize)
            && (entry.at, entry.order) > (at, order)
        {
            next = previous;
            previous = entry.previous;
        }
        self.entries[next as usize].previous = source;
        match self.entries.get_mut(previous as usize) {
            Some(entry) => entry.next = source,
            None => self.lists[index].first = source,
        }
        self.entries[source as usize] = Entry { at, order, next, previous };
    }

    fn unlink(&mut self, source: u32) {
        let entry = &mut self.entries[source as usize];
        entry.order = NO_EVENT;
        let (at, next, previous) = (entry.at, entry.next, entry.previous);
        let index = self.list_of(at >> self.shift);
        match self.entries.get_mut(next as usize) {
            Some(entry) => entry.previous = previous,
            None => self.lists[index].last = previous,
        }
        match self.entries.get_mut(previous as usize) {
            Some(entry) => entry.next = next,
            None => {
                self.lists[index].first = next;
                if next == NONE {
                    self.occupied[index / 64] &= !(1 << (index % 64));
                }
            }
        }
    }

    /// The first event after today, which becomes today.
    fn search(&mut self) -> Option<(u32, u64)> {
        let lists = self.lists.len();
        let start = self.list_of(self.today);
        let mut ahead = 1;
        while ahead < lists {
            let index = (start + ahead) & (lists - 1);
            let word = self.occupied[index / 64] >> (index % 64);
            if word == 0 {
                ahead += 64 - index % 64;
                continue;
            }
            ahead += word.trailing_zeros() as usize;
            if ahead >= lists {
                break;
            }
            let first = self.lists[(start + ahead) & (lists - 1)].first;
            let at = self.entries[first as usize].at;
            let day = self.today.wrapping_add(ahead as u64);
            if at >> self.shift == day {
                self.today = day;
                return Some((first, at));
            }
            ahead += 1;
        }
        self.search_all()
    }

    /// The first event, if none is within one turn of the lists.
    fn search_all(&mut self) -> Option<(u32, u64)> {
        let mut least: Option<(u64, u64, u32)> = None;
        for (position, &word) in self.occupied.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let first = self.lists[position * 64 + word.trailing_zeros() as usize].first;
                let entry = &self.entries[first as usize];
                let key = (entry.at, entry.order, first);
                least = Some(least.map_or(key, |least| least.min(key)));
                word &= word - 1;
            }
        }
        let (at, _, first) = least?;
        self.today = at >> self.shift;
        Some((first, at))
    }

    /// Makes a day four to eight times as long as events are apart, to within a factor of two. Shorter days
    /// cost a search for almost every event; of longer ones the lists would have to be walked through.
    #[cold]
    fn review(&mut self, now: u64) {
        let distance = now.saturating_sub(self.reviewed_at) / u64::from(REVIEW_INTERVAL);
        (self.until_review, self.reviewed_at) = (REVIEW_INTERVAL, now);
        let shift = (u64::BITS - distance.leading_zeros() + 2).min(LAST_SHIFT);
        if shift.abs_diff(self.shift) > 1 {
            self.shift = shift;
            self.rebuild();
        }
    }

    /// Links all entries again: with another length of a day, or more lists.
    #[cold]
    fn rebuild(&mut self) {
        let lists = self.entries.len().next_power_of_two().max(LEAST_LISTS);
        self.lists.clear();
        self.lists.resize(lists, EMPTY);
        self.occupied.clear();
        self.occupied.resize(lists / 64, 0);
        self.today = u64::MAX;
        for source in 0..self.entries.len() {
            let Entry { at, order, .. } = self.entries[source];
            if order != NO_EVENT {
                self.link(source as u32, at, order);
            }
        }
    }
}
