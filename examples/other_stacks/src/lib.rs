//! Congestion control and repair for other transports: the examples of two READMEs, compiled and run.

pub mod quinn_repair;
pub mod quinn_window;
pub mod rtp_rate;
pub mod str0m_repair;

#[cfg(test)]
mod tests;
