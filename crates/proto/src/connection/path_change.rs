//! Change of path: the state of the old path is kept, discarded or stored.

use core::fmt;

use whimbrel_units::Duration;

use super::congestion::PathResume;
use super::path_mtu::PathMtu;

/// Number of paths stored.
const MAX_PATHS: usize = 4;

/// Identifies a path: for example a hash of this end's or the peer's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathId(pub u64);

/// State of a path when it was left.
#[derive(Clone)]
pub(super) struct PathState {
    pub(super) name: PathId,
    pub(super) rtt: Option<Duration>,
    pub(super) path_mtu: Option<Box<PathMtu>>,
    pub(super) max_datagram: usize,
    pub(super) congestion: PathResume,
}

/// The stored paths, the last one left at the end.
#[derive(Clone, Default)]
pub(super) struct KnownPaths(Vec<PathState>);

impl fmt::Debug for KnownPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|path| path.name)).finish()
    }
}

impl KnownPaths {
    /// Stores the state of a path, in place of the one left longest ago.
    pub(super) fn remember(&mut self, path_state: PathState) {
        self.0.retain(|path| path.name != path_state.name);
        if self.0.len() == MAX_PATHS {
            self.0.remove(0);
        }
        self.0.push(path_state);
    }

    /// Removes the state of a path, if it is stored.
    pub(super) fn take(&mut self, name: PathId) -> Option<PathState> {
        let index = self.0.iter().position(|path| path.name == name)?;
        Some(self.0.remove(index))
    }
}
