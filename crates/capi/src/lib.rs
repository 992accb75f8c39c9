//! DCCP sockets as a C library: `whimbrel.h`.
//!
//! Conversion and checks of pointers, no logic: the sockets come from [`whimbrel_net::polled`]. No panic
//! crosses the boundary ([`failure`]), and each pointer is checked for null before it is used ([`pointers`]).
//!
//! # Design
//!
//! - `whimbrel.h` is generated (cbindgen) and checked in; a test compares them. The C library has no default
//!   of security: a configuration without a secret, keys or an explicit choice of plaintext is refused.
#![allow(non_camel_case_types, reason = "the types have the names that C uses")]

mod config;
mod event;
mod failure;
mod listener;
mod pointers;
mod runtime;
mod socket;
mod stats;
