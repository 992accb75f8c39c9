//! The local edge: what stands between a stranger's socket and ours.
//!
//! Programs send datagrams to a relay's ports, and take those that it passes on. They know nothing of it:
//! where they are, how fast they send, what they send, and whether anything listens has to be found out.
//! [`address`] and [`local_socket`] open the sockets, [`flow_kind`] says what a datagram is, [`frames`] what
//! has arrived of frames, [`key_frames`] asks for what a decoder needs, [`stream`] how urgent it is, with
//! [`mavlink`] among others, [`lanes`] which one leaves first, [`bundle`] which ones leave together,
//! [`commands`] repeats commands, [`queue`] which one is dropped when the rate is short, [`parts`] divides
//! datagrams that are too large for the path, and [`ledger`] records the fate of each datagram. [`carriage`]
//! combines these, sans I/O, for both directions of a connection.

pub mod address;
pub(crate) mod bundle;
pub(crate) mod carriage;
pub(crate) mod commands;
pub(crate) mod flow;
pub(crate) mod flow_kind;
pub(crate) mod frames;
pub(crate) mod key_frames;
pub(crate) mod lanes;
pub(crate) mod ledger;
pub(crate) mod local_socket;
pub(crate) mod mavlink;
pub(crate) mod parts;
pub(crate) mod queue;
pub(crate) mod report;
pub(crate) mod stream;
