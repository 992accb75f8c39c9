//! The laws, and what it takes to watch over them. Each panics where its law is broken.

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
