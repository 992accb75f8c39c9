//! The built program between sessions of Zenoh, with relays and without.

mod bad_datagrams;
mod chain;
mod networks;
mod programs;
mod slow_path;

mod both_directions;
mod newest_values;
