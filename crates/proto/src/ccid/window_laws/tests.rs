use super::*;
use crate::ccid::{Mechanism, Registry};

#[test]
fn each_law_has_a_number_for_experiments_and_a_name_of_its_own() {
    let mechanisms = all();
    for (index, mechanism) in mechanisms.iter().enumerate() {
        assert!((248..=254).contains(&mechanism.ccid().0), "RFC 4340, Section 19.5");
        assert_ne!(mechanism.ccid(), Ccid::TFRC_EXPLICIT);
        assert_ne!(mechanism.name(), "an experiment");
        let is_other = |other: &Ccid2| other.ccid != mechanism.ccid && other.name != mechanism.name;
        assert!(mechanisms[..index].iter().all(is_other));
        assert_eq!(mechanism.profile().is_scalable, mechanism.ccid() == Ccid::PRAGUE);
    }
}

#[test]
fn a_description_lists_the_laws() {
    let registry = Registry::default().with_window_laws();
    assert_eq!(
        registry.describe(|_| true),
        "2 (TCP-like), 3 (TFRC), 4 (TFRC-SP), 248 (CUBIC), 249 (Veno), 253 (Westwood) or 254 (Prague)"
    );
}
