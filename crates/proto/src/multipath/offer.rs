//! The multipath options of Requests and Responses (RFC 9897, Sections 3.1 and 3.3).

use smallvec::SmallVec;
use whimbrel_wire::option::multipath::{self, Key, KeyType, MultipathKey, MultipathOption, VERSION_0};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, OptionBytes, Options};

use super::entropy::Entropy;
use super::keys::Code;

/// The part of a value of Multipath Capable that is the version.
const VERSION_MASK: u8 = 0xf0;

/// The extensions of a first Request or Response.
#[derive(Debug)]
pub(super) enum Offer {
    /// The sender takes part, with these keys.
    Keys(MultipathKey),
    /// The sender does not take part, or in no common version.
    None,
    /// The options are invalid.
    Invalid,
}

/// A joining subflow's part of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JoinOffer {
    pub(super) join: multipath::Join,
    /// The MP_HMAC that follows.
    pub(super) code: Option<Code>,
}

/// The feature option of a Request.
pub(super) fn change() -> DccpOption {
    let feature = FeatureNumber::MultipathCapable;
    DccpOption::Feature(FeatureOption::preferences(FeatureAction::ChangeR, feature, &[VERSION_0]))
}

/// The feature option of a Response: the chosen version, and this end's list.
pub(super) fn confirm() -> DccpOption {
    let feature = FeatureNumber::MultipathCapable;
    DccpOption::Feature(FeatureOption::confirmation(
        FeatureAction::ConfirmL,
        feature,
        VERSION_0,
        &[VERSION_0],
    ))
}

fn feature(options: &Options, action: FeatureAction) -> Option<&FeatureOption> {
    options.iter().find_map(|option| match option {
        DccpOption::Feature(feature)
            if feature.feature_number() == FeatureNumber::MultipathCapable && feature.action == action =>
        {
            Some(feature)
        }
        _ => None,
    })
}

/// `true` if both ends use version 0: it is in the list of a Change, or the value of a Confirm.
fn is_agreed(options: &Options, action: FeatureAction) -> bool {
    let is_version_0 = |value: &u8| value & VERSION_MASK == VERSION_0;
    feature(options, action).is_some_and(|feature| match action.is_change() {
        true => feature.values.iter().any(is_version_0),
        false => feature.values.first().is_some_and(is_version_0),
    })
}

/// `true` if the options include an undecodable Multipath option with that MP_OPT.
fn has_invalid(options: &Options, mp_opt: u8) -> bool {
    options.iter().any(|option| {
        matches!(option, DccpOption::Unknown { kind, data }
            if *kind == DccpOption::MULTIPATH_KIND && data.first() == Some(&mp_opt))
    })
}

/// The offer of a first Request (`action`: Change R) or Response (Confirm L).
pub(super) fn read(options: &Options, action: FeatureAction) -> Offer {
    if !is_agreed(options, action) {
        return Offer::None;
    }
    let key = options.iter().find_map(|option| match MultipathOption::parse(option) {
        Some(MultipathOption::Key(key)) => Some(key),
        _ => None,
    });
    match key {
        _ if has_invalid(options, multipath::KEY) => Offer::Invalid,
        // Section 3.2.4: several keys are only permitted in the Request.
        Some(key) if !action.is_change() && (key.keys.len() != 1 || !key.unread.is_empty()) => Offer::Invalid,
        Some(key) => Offer::Keys(key),
        None => Offer::None,
    }
}

/// The MP_JOIN of a Request or Response; `None` if it is missing, invalid, or the version is another.
pub(super) fn read_join(options: &Options, action: FeatureAction) -> Option<JoinOffer> {
    if !is_agreed(options, action) {
        return None;
    }
    let place = options
        .iter()
        .position(|option| matches!(MultipathOption::parse(option), Some(MultipathOption::Join(_))))?;
    let Some(MultipathOption::Join(join)) = MultipathOption::parse(&options[place]) else { return None };
    // Section 3.2.6: an MP_HMAC directly follows its option.
    let code = match options.get(place + 1).map(MultipathOption::parse) {
        Some(Some(MultipathOption::Hmac(code))) => Some(code),
        _ => None,
    };
    Some(JoinOffer { join, code })
}

/// `true` if a Request asks to join a connection, validly or not.
pub(crate) fn is_join(options: &Options) -> bool {
    has_invalid(options, multipath::JOIN)
        || options.iter().any(
            |option| matches!(option, DccpOption::Multipath(data) if data.first() == Some(&multipath::JOIN)),
        )
}

/// `true` if a Request asks for a multipath connection, validly or not.
pub(crate) fn is_first(options: &Options) -> bool {
    has_invalid(options, multipath::KEY)
        || options.iter().any(
            |option| matches!(option, DccpOption::Multipath(data) if data.first() == Some(&multipath::KEY)),
        )
}

/// New keys of these types.
pub(super) fn make_keys(types: &[KeyType], entropy: &mut Entropy) -> SmallVec<[Key; 1]> {
    let make = |key_type: &KeyType| {
        let mut data = OptionBytes::new();
        while data.len() < key_type.len() {
            let bytes = entropy.bytes();
            let left = key_type.len() - data.len();
            data.extend_from_slice(&bytes[..left.min(bytes.len())]);
        }
        Key { key_type: *key_type, data }
    };
    types.iter().map(make).collect()
}
