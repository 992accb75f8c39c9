//! Congestion control laws as pure state machines.
//!
//! A law takes numbers (sequence numbers, sizes, instants, round-trip times) and returns numbers (a rate, a
//! window, a deadline). Nothing here parses packets, opens sockets or reads a clock, so that the same code
//! serves DCCP, the simulated TCP, and RTP or QUIC implementations.
//!
//! - [`bbr`]: BBR version 3, for media and for the simulated TCP.
//! - [`tfrc`]: TCP-Friendly Rate Control (RFC 5348): the loss event rate at the receiver, the
//!   allowed sending rate at the sender.
//! - [`explicit_rate`]: routers that write rates into packets: XCP, RCP, their variants for wireless media,
//!   ABC.
//! - [`capacity`]: capacity and available bandwidth of an 802.11 medium, from observed frames.
//! - [`freeze`]: TFRC over a handover: stop, restore the rate, probe for more.
//! - [`media`]: rates for encoders of live media, from delay, loss and marks.
//! - [`loss_detection`]: holes in the sequence numbers that were not filled in time.
//! - [`loss_differentiation`]: classification of losses into wireless and congestion losses.
//! - [`handover_model`]: the cost of a handover for a TFRC sender, in equations.
//! - [`multipath`]: the path of each datagram.
//! - [`reordering`]: putting packets back into order within a bounded delay.
//! - [`window`]: congestion windows (RFC 5681) and the retransmission timeout (RFC 6298).
//!
//! # Design
//!
//! - *Loss detection* (`control::loss_detection`) is below both of its users, loss differentiation and TFRC's
//!   loss history, so that the modules of `control` form no ring.
//! - A window law is a value of a configuration (`control::window::LawPrototype`) for CCID 2 and for the
//!   simulated TCP; each sender starts with a copy. CCIDs 248, 249, 253 and 254 are CCID 2 with the laws of
//!   CUBIC, Veno, Westwood+ and Prague (`ccid::window_laws`), registered on request only. A scalable law
//!   (`WindowLaw::is_scalable`) limits its responses to marks itself; the sender passes it all of them, and
//!   sends ECT(1) through its CCID's profile. The simulated TCP counts marks by AccECN, DCCP by Ack Vectors.
//! - *Congestion control for media* (`control::media`) has one trait, `MediaController`: sent packets and
//!   reports in, rates of encoder and pacer (and for some a window or a probe) out. GCC, NADA, SCReAM, Copa,
//!   BBR and the delay-aware rate implement it. It is not the CCIDs' trait: media over RTP have per-packet
//!   arrival times, and their encoder asks for a rate, where a CCID answers whether a packet may leave. The
//!   transport `media` of the laboratory feeds it with reports of RFC 8888 (`wire::congestion_feedback`),
//!   quantised as on the wire. A law outside (`External`) keeps the reports for a program that advances the
//!   run in steps; Python's `whimbrel.drive` and `whimbrel.Environment` are that program.
//! - *Explicit rate control* (`control::explicit_rate`) has one trait for the law of an egress, `RouterLaw`,
//!   with the calls of `netsim`'s `Controller` and without its types. XCP, XCP-Winf and the blind XCP are one
//!   router whose configuration names the source of the spare bandwidth and the weights of packets; RCP and
//!   RCP-Winf likewise. Where descriptions of a protocol differ, the reading is part of the configuration.
//!   `control::capacity` infers the capacity and the available bandwidth of an 802.11 medium, for these laws,
//!   from frames. The transports `xcp`, `rcp` and `abc` of `lab` (`transport/explicit`) have the reliability
//!   of the simulated TCP, whose window or pace the law sets.
//! - *Freezing* wraps TFRC instead of changing it: `control::freeze::FreezingSender` holds a `TfrcSender`,
//!   which provides a few methods (`tfrc/sender/suspend`), and two state tables that correspond to the
//!   paper's Figure 7. The connection manages the frozen directions (`connection/freeze`), so that freezing
//!   works with any CCID; the CCID restores the rate. A synthetic history during probing is reported in a
//!   Loss Intervals option by one loss-free interval, which represents as many intervals as there is room
//!   for: eight real ones would cover more packets than were ever sent.
//! - Schedulers (`control::multipath`) see paths as numbers; the priorities of RFC 9897 apply before any of
//!   them.
//! - *Loss differentiation* has four parts. `control::loss_differentiation` contains the algorithms and their
//!   optional wrappers: a guard, a classifier that records its verdicts (`recording`), one that runs in
//!   parallel for evaluation (`stream`), the sender's clock. `proto`'s CCID 3 (`receiver/classification`)
//!   supplies their input and requests the sender's clock by a feature; a verdict is an `Event`.
//!   `lab::metrics::classified_loss` compares verdicts with the truth, which only the simulator knows.
//!   `papers/lda` measures.
//! - The wrappers of an algorithm are one value, `Differentiation`: `unguarded` is the algorithm as
//!   published, `guarded` the configuration for real links. The paper's experiments use the former.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bbr;
pub mod capacity;
pub mod explicit_rate;
pub mod freeze;
pub mod handover_model;
pub mod loss_detection;
pub mod loss_differentiation;
pub mod media;
pub mod multipath;
pub mod reordering;
pub mod tfrc;
pub mod window;
