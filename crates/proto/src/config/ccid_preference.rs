//! CCIDs in order of preference.

use core::ops::Deref;

use smallvec::SmallVec;

use crate::Ccid;

/// CCIDs in order of preference. Created from an array, a slice or an iterator, or from a single CCID.
///
/// ```
/// use whimbrel_proto::{Ccid, Config};
///
/// let config = Config::default().sender_ccids([Ccid::TCP_LIKE, Ccid::TFRC]).receiver_ccids(Ccid::TFRC);
/// assert_eq!(config.sender_ccids[0], Ccid::TCP_LIKE);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CcidPreference(SmallVec<[Ccid; 4]>);

impl Deref for CcidPreference {
    type Target = [Ccid];
    fn deref(&self) -> &[Ccid] {
        &self.0
    }
}

impl From<Ccid> for CcidPreference {
    fn from(ccid: Ccid) -> Self {
        [ccid].into()
    }
}

impl From<&[Ccid]> for CcidPreference {
    fn from(ccids: &[Ccid]) -> Self {
        Self(SmallVec::from_slice(ccids))
    }
}

impl<const N: usize> From<[Ccid; N]> for CcidPreference {
    fn from(ccids: [Ccid; N]) -> Self {
        ccids.as_slice().into()
    }
}

impl FromIterator<Ccid> for CcidPreference {
    fn from_iter<I: IntoIterator<Item = Ccid>>(ccids: I) -> Self {
        Self(ccids.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a CcidPreference {
    type Item = &'a Ccid;
    type IntoIter = core::slice::Iter<'a, Ccid>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
