//! Systems without notifications of interfaces.

use std::convert::Infallible;

use super::InterfaceAddress;
use crate::NetError;

const UNSUPPORTED: &str =
    "the addresses of network interfaces are known on Linux only, with the feature `netlink`";

pub(super) fn addresses() -> Result<Vec<InterfaceAddress>, NetError> {
    Err(NetError::Config(UNSUPPORTED.into()))
}

/// There are none.
#[derive(Debug)]
pub(super) struct News(Infallible);

impl News {
    pub(super) fn open() -> Result<Self, NetError> {
        Err(NetError::Config(UNSUPPORTED.into()))
    }

    pub(super) async fn next(&mut self) -> Result<(), NetError> {
        match self.0 {}
    }
}
