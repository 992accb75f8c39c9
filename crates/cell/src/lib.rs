//! LTE and NR cells as machines without I/O: what a cellular link layer makes of packets.
//!
//! Media feel a cell by its link layer: repetitions in steps of milliseconds, delivery in order, grants of
//! the uplink, queues of seconds, handovers. Nothing here reads a clock, opens a file or draws entropy: `now`
//! is an argument, deadlines are absolute and random numbers are functions of a seed, a link and a time. The
//! crate knows no transport, and no core network.
//!
//! - [`level`]: decibels and powers.
//! - [`numerology`]: slots, bandwidths and resource blocks.
//! - [`amc`]: CQI, MCS and transport block sizes.
//! - [`radio`]: path loss, shadows, fading, noise, interference, reports and errors.
//! - [`duplex`]: the slots of downlink and uplink.
//! - [`scheduler`]: the owners of the resource blocks of a slot.
//! - [`harq`]: repetition and combination of blocks.
//! - [`packet`] and [`queue`]: packets, their parts and the queue of a bearer.
//! - [`rlc`] and [`pdcp`]: segments, statuses, timers and order.
//! - [`uplink`]: requests, reports and grants.
//! - [`drx`] and [`rrc`]: when a terminal listens, and when it has a connection.
//! - [`handover`]: reports, interruption, failure and re-establishment.
//! - [`cell`]: one base station and its terminals, with all layers but handover.
//! - [`preset`]: the usual parameters of LTE and NR.
//! - [`network`]: several base stations and the terminals that move between them.
//!
//! # Design
//!
//! - LTE and NR are two parameter sets of one model: each difference (block sizes, slots, order at RLC or
//!   PDCP) is a value, and no machine asks for the generation.
//! - Shadows, fades and lines of sight are functions of a place or of a distance travelled, as sums of waves
//!   whose spectra give the correlations of the standards. Neither order nor number of queries changes a
//!   channel, and time that nobody asks about costs nothing.
//! - RLC has NR's form for both generations: a number for each packet, ranges of bytes in blocks. LTE numbers
//!   blocks instead; with a packet in each block the published times of release are the same.
//! - A handover keeps the numbers of the packets that are not acknowledged, and the receiver keeps what is
//!   complete, as after a status report of PDCP: no packet is delivered twice or overtaken.
//! - The uplink is times that are computed from occasions, not a machine that ticks. A report counts as known
//!   to the station from the slot on in which its answer can be used.
//! - [`Cell`] composes all layers but handover, which spans cells, and [`Network`](network::Network) composes
//!   cells, radio and handover. Each packet has one outcome.
//! - A terminal takes its bearers along: at the command of a handover they move to the new cell, which serves
//!   them from the end of the gap on, so that packets that arrive meanwhile wait where they will be sent.
//! - Neighbours interfere by their share of resource blocks in use in the last tenth of a second, not block
//!   by block, and their signals do not fade fast. Antennas are omnidirectional. Uplink and downlink fade
//!   alike.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod amc;
pub mod cell;
pub mod drx;
pub mod duplex;
pub mod handover;
pub mod harq;
pub mod level;
pub mod network;
pub mod numerology;
pub mod packet;
pub mod pdcp;
pub mod preset;
pub mod queue;
pub mod radio;
pub mod rlc;
pub mod rrc;
pub mod scheduler;
pub mod uplink;

pub use cell::{Cell, CellConfig, Channel};
pub use level::{Decibels, Milliwatts, PowerLevel};
pub use numerology::{InvalidCarrier, Numerology, ResourceBlocks, Standard};
