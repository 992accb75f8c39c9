//! Systems without link notifications.

use std::convert::Infallible;
use std::net::IpAddr;

use super::Route;
use crate::NetError;

/// There is none.
#[derive(Debug)]
pub(super) struct LinkEvents(Infallible);

impl LinkEvents {
    pub(super) fn open(_remote: IpAddr, _interface: Option<&str>) -> Result<Self, NetError> {
        Err(NetError::Config(
            "following a link is not supported here: only on Linux, with the feature `netlink`".into(),
        ))
    }

    pub(super) fn route(&mut self) -> Result<Option<Route>, NetError> {
        match self.0 {}
    }

    pub(super) async fn changed(&mut self, _index: Option<u32>) -> Result<bool, NetError> {
        match self.0 {}
    }
}
