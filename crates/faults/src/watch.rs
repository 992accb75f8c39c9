//! The laws and the state of their checks. Each check panics if its law is broken.

pub(crate) mod bounds;
pub(crate) mod flow;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod order;
mod pace;
pub(crate) mod pair;
pub(crate) mod rate;
pub(crate) mod sizes;
mod window;
