//! The laboratory in a browser: the simulator as a WebAssembly module, without imports.
//!
//! `page/` is the page; `scripts/build_playground.py` makes one file of it, which contains the module and the
//! packaged examples. A Web Worker of the page has an instance of the module for each run, and calls
//! [`exports`]; the [`session`] behind them gives the worker events of the live page, the capture and the
//! record.
//!
//! # Design
//!
//! - The interface is numbers and bytes in memory: arguments are written to one buffer, results are read from
//!   another. A generator of bindings would add a program to the build, and code to the page.
//! - A run is advanced in pieces, so that the worker hears of a stop, and shows how far it is.
//! - Charts, map and tables are the live page's (`whimbrel-live`), in a frame that takes the recording in
//!   messages.
//! - A slider changes the text of the scenario ([`knobs`]), and a link contains the text.
//! - Sliders and completions ([`completion`]) follow the schema of scenarios: a new key needs no change here.

pub mod completion;
pub mod exports;
pub mod knobs;
mod schema;
pub mod session;
