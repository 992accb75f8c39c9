//! The list of MP_CONFIRM (RFC 9897, Section 3.2.1).

use super::{ADD_ADDRESS, CONFIRM, HEAD, MultipathOption, PRIORITY, REMOVE_ADDRESS, SEQ};
use crate::option::{MAX_DATA_LEN, MULTIPATH, OptionBytes};
use crate::{DccpOption, SeqNo};

/// The confirmed options, copied as they were received, the most recently received first: each group begins
/// with the MP_SEQ of the packet that carried its options.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Confirmations(OptionBytes);

/// An element of the list: the data of one option, and the list after it.
type Element<'a> = (&'a [u8], &'a [u8]);

impl Confirmations {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn from_body(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let mut is_numbered = false;
        while !rest.is_empty() {
            let (data, after) = split_element(rest)?;
            let &mp_opt = data.first()?;
            is_numbered |= mp_opt == SEQ;
            // A list within the list would make the depth of decoding depend on the sender.
            if !is_numbered || mp_opt == CONFIRM || MultipathOption::from_data(data).is_none() {
                return None;
            }
            rest = after;
        }
        is_numbered.then(|| Self(OptionBytes::from_slice(body)))
    }

    /// Appends a received option, with the MP_SEQ of its packet. Options are appended in the order of the
    /// list: the most recently received first. Returns `false`, without a change, if the list has no room or
    /// the option is not one that is confirmed.
    pub fn push(&mut self, sequence: SeqNo, option: &DccpOption) -> bool {
        let DccpOption::Multipath(data) = option else { return false };
        if !matches!(data.first(), Some(&(ADD_ADDRESS | REMOVE_ADDRESS | PRIORITY))) {
            return false;
        }
        let number = MultipathOption::Sequence(sequence).to_data();
        let is_same = self.iter().last().is_some_and(|(last, _)| last == sequence);
        let length = if is_same { 0 } else { 2 + number.len() } + 2 + data.len();
        if HEAD + self.0.len() + length > MAX_DATA_LEN {
            return false;
        }
        if !is_same {
            push_element(&mut self.0, &number);
        }
        push_element(&mut self.0, data);
        true
    }

    /// The confirmed options, each with the MP_SEQ of its packet, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (SeqNo, DccpOption)> + '_ {
        let mut rest = &self.0[..];
        let mut sequence = None;
        core::iter::from_fn(move || {
            loop {
                let (data, after) = split_element(rest)?;
                rest = after;
                match MultipathOption::from_data(data)? {
                    MultipathOption::Sequence(number) => sequence = Some(number),
                    _ => return Some((sequence?, DccpOption::Multipath(OptionBytes::from_slice(data)))),
                }
            }
        })
    }

    /// `true` if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Splits an option 46 off: its data, and the rest.
fn split_element(list: &[u8]) -> Option<Element<'_>> {
    let (&[kind, length], rest) = list.split_first_chunk()?;
    if kind != MULTIPATH {
        return None;
    }
    rest.split_at_checked(usize::from(length).checked_sub(2)?)
}

fn push_element(list: &mut OptionBytes, data: &[u8]) {
    // An option's data has 253 bytes at most.
    list.extend_from_slice(&[MULTIPATH, (2 + data.len()) as u8]);
    list.extend_from_slice(data);
}
