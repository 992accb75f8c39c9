//! Systems that are not asked.

use std::convert::Infallible;
use std::net::IpAddr;

use super::Way;
use crate::NetError;

/// There is none.
#[derive(Debug)]
pub(super) struct Source(Infallible);

impl Source {
    pub(super) fn open(_remote: IpAddr, _interface: Option<&str>) -> Result<Self, NetError> {
        Err(NetError::Config("following a link is not supported here: only Linux tells of its links".into()))
    }

    pub(super) fn way(&mut self) -> Result<Option<Way>, NetError> {
        match self.0 {}
    }

    pub(super) async fn changed(&mut self, _index: Option<u32>) -> Result<bool, NetError> {
        match self.0 {}
    }
}
