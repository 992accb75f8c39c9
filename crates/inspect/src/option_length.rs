//! The valid lengths of options, including the type and length bytes.

use whimbrel_wire::option::multipath;

#[cfg(test)]
mod tests;

/// The lengths that RFC 4340 allows for an option of this type, as text; `None` for types that it does not
/// define and for those with any length.
pub fn expected(kind: u8) -> Option<&'static str> {
    Some(match kind {
        // Section 6.1: the feature number is always present.
        32..=35 => "3 or more",
        // Section 7.7.
        37 => "3 to 8",
        // Section 13.1.
        41 => "6",
        // Section 13.3.
        42 => "6, 8 or 10",
        // Section 13.2.
        43 => "4 or 6",
        // Section 9.3.
        44 => "6",
        _ => return None,
    })
}

/// The counterpart of [`expected`] for a Multipath option with these data (RFC 9897, Section 3.2).
pub fn expected_of_multipath(data: &[u8]) -> Option<&'static str> {
    Some(match *data.first()? {
        multipath::CONFIRM => "a list of options",
        multipath::JOIN | multipath::RTT => "12",
        multipath::FAST_CLOSE | multipath::CLOSE => "4 or more",
        multipath::KEY => "17, 73 or 82",
        multipath::SEQ => "9",
        multipath::HMAC => "23",
        multipath::ADD_ADDRESS => "12, 14, 24 or 26",
        multipath::REMOVE_ADDRESS => "8",
        multipath::PRIORITY => "4",
        _ => return None,
    })
}

/// The counterpart of [`expected`] for the options of CCID 3 and CCID 4.
pub fn expected_by_tfrc(kind: u8) -> Option<&'static str> {
    Some(match kind {
        // RFC 6323, Section 3.2.1.
        128 => "3 to 5",
        // RFC 4342, Sections 8.5 and 8.3.
        192 | 194 => "6",
        // RFC 4342, Section 8.6.
        193 => "3 + 9 n",
        // RFC 5622, Section 8.7.
        195 => "2 + 3 n",
        _ => return None,
    })
}
