//! All tests of the crate in one program: a program for each file would take minutes to link.

mod no_allocation;
