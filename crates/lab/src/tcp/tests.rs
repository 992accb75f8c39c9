//! Both ends together, over a small network of the tests' own.

mod bbr;
mod closed_loop;
mod ns2;
mod pipe;
mod properties;
