//! A 4-ary heap of integers.
//!
//! The least of four children is found without a branch, and a key that walks down stays in registers
//! until it has found its place: on the small heaps of a simulation this is measurably faster than a
//! general heap.

/// The order is that of the integers; all are different.
pub(super) type Key = u128;

/// Greater than every key: fills the last group of siblings.
pub(super) const NEVER: Key = Key::MAX;

const ARITY: usize = 4;

pub(super) struct Heap {
    /// The children of `k` are `4 k + 1` to `4 k + 4`. The length is one more than a multiple of four.
    keys: Vec<Key>,
    len: usize,
}

impl Heap {
    pub(super) fn new() -> Self {
        Self { keys: vec![NEVER], len: 0 }
    }

    /// The least key, or [`NEVER`].
    pub(super) fn first(&self) -> Key {
        self.keys[0]
    }

    pub(super) fn push(&mut self, key: Key) {
        if self.len == self.keys.len() {
            self.keys.extend([NEVER; ARITY]);
        }
        let mut position = self.len;
        self.len += 1;
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if self.keys[parent] < key {
                break;
            }
            self.keys[position] = self.keys[parent];
            position = parent;
        }
        self.keys[position] = key;
    }

    /// Removes the least key.
    pub(super) fn remove_first(&mut self) {
        if self.len > 0 {
            self.len -= 1;
            let last = core::mem::replace(&mut self.keys[self.len], NEVER);
            if self.len > 0 {
                self.replace_first(last);
            }
        }
    }

    /// Puts this key in the place of the least one.
    pub(super) fn replace_first(&mut self, key: Key) {
        let keys = self.keys.as_mut_slice();
        let mut position = 0;
        while let Some(children) = keys.get(ARITY * position + 1..).and_then(<[Key]>::first_chunk::<ARITY>) {
            let [a, b, c, d] = *children;
            let (left, right) = (usize::from(b < a), usize::from(d < c));
            let (of_left, of_right) = (a.min(b), c.min(d));
            let child = if of_right < of_left { 2 + right } else { left };
            let least = of_left.min(of_right);
            if key < least {
                break;
            }
            keys[position] = least;
            position = ARITY * position + 1 + child;
        }
        keys[position] = key;
    }
}
