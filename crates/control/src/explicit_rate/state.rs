//! The state that router laws keep, as paper `winf`'s README lists it.

use core::mem::size_of;

use super::xcp::XcpConfig;
use super::*;
use crate::capacity::{RtWinf, RtWinfConfig};

/// Bytes of a law's variables without its parameters. None of the types has memory on the heap, in which it
/// could keep a state per flow.
#[test]
fn the_state_of_a_router_does_not_depend_on_the_number_of_flows() {
    let xcp = size_of::<XcpRouter>() - size_of::<XcpConfig>();
    let rcp = size_of::<RcpRouter>() - size_of::<RcpConfig>();
    let abc = size_of::<AbcRouter>() - size_of::<AbcConfig>();
    let winf = size_of::<RtWinf>() - size_of::<RtWinfConfig>();
    assert!(xcp <= 152 && rcp <= 96 && abc <= 112 && winf <= 272, "{xcp} {rcp} {abc} {winf} bytes");
}
