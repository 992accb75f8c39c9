//! Experimental CCIDs with the mechanics of [CCID 2](super::ccid2) and another window law.
//!
//! RFC 4340, Section 19.5 reserves CCIDs 248 to 254 for experiments. Loss detection, the transmit timer, Ack
//! Vectors and the control of the acknowledgements are CCID 2's (RFC 4341); a law changes the window alone.
//!
//! | CCID | name | law |
//! |---|---|---|
//! | 248 | `cubic` | [`Cubic`] with HyStart++ (RFC 9438, RFC 9406) |
//! | 249 | `veno` | [`Veno`] (Fu and Liew, 2003) |
//! | 253 | `westwood` | [`Westwood`]+ (Grieco and Mascolo, 2004) |
//! | 254 | `prague` | [`Prague`]; data carries ECT(1), and each mark in an Ack Vector counts (RFC 9331) |
//!
//! No registry has them by default, so that no peer can negotiate one without the application's consent:
//!
//! ```
//! use whimbrel_proto::ccid::Registry;
//! use whimbrel_proto::{Ccid, Config};
//!
//! // CUBIC where the peer has it, else CCID 2.
//! let mut config = Config::default().ccids(Registry::default().with_window_laws());
//! config.sender_ccids = [Ccid::CUBIC, Ccid::TCP_LIKE].into();
//! config.receiver_ccids = [Ccid::CUBIC, Ccid::TCP_LIKE].into();
//! assert!(config.validate().is_ok());
//! ```

use whimbrel_control::window::{BandwidthFilter, Cubic, NewReno, Prague, Veno, Westwood};

use super::Ccid;
use super::ccid2::{Ccid2, INITIAL_ACK_RATIO};

/// CCID 248: CUBIC with HyStart++.
pub fn cubic() -> Ccid2 {
    Ccid2::with_law(Ccid::CUBIC, Cubic::rfc9438().with_hystart()).named("CUBIC")
}

/// CCID 249: Veno, with the slow start and the growth of CCID 2.
pub fn veno() -> Ccid2 {
    Ccid2::with_law(Ccid::VENO, Veno::over(reno())).named("Veno")
}

/// CCID 253: Westwood+, with the slow start and the growth of CCID 2.
pub fn westwood() -> Ccid2 {
    Ccid2::with_law(Ccid::WESTWOOD, Westwood::over(reno(), BandwidthFilter::Tustin)).named("Westwood")
}

/// CCID 254: a Prague-like law.
pub fn prague() -> Ccid2 {
    Ccid2::with_law(Ccid::PRAGUE, Prague::new()).named("Prague")
}

/// All of them.
pub fn all() -> [Ccid2; 4] {
    [cubic(), veno(), westwood(), prague()]
}

fn reno() -> NewReno {
    NewReno::rfc4341(INITIAL_ACK_RATIO)
}

#[cfg(test)]
mod tests;
