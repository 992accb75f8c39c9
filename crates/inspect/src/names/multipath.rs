//! Descriptions of the Multipath option (RFC 9897, Section 3.2).

use whimbrel_wire::DccpOption;
use whimbrel_wire::option::multipath::{
    self, AddAddress, KeyType, MultipathKey, MultipathOption, RemoveAddress, RttKind,
};

/// The name of an MP_OPT.
pub fn multipath_name(mp_opt: u8) -> String {
    match mp_opt {
        multipath::CONFIRM => "MP_CONFIRM".into(),
        multipath::JOIN => "MP_JOIN".into(),
        multipath::FAST_CLOSE => "MP_FAST_CLOSE".into(),
        multipath::KEY => "MP_KEY".into(),
        multipath::SEQ => "MP_SEQ".into(),
        multipath::HMAC => "MP_HMAC".into(),
        multipath::RTT => "MP_RTT".into(),
        multipath::ADD_ADDRESS => "MP_ADDADDR".into(),
        multipath::REMOVE_ADDRESS => "MP_REMOVEADDR".into(),
        multipath::PRIORITY => "MP_PRIO".into(),
        multipath::CLOSE => "MP_CLOSE".into(),
        multipath::EXPERIMENTAL => "MP_EXP".into(),
        other => format!("MP_OPT {other}"),
    }
}

/// A Multipath option with its contents. Keys and codes are left out.
pub(super) fn description(option: &MultipathOption) -> String {
    let name = multipath_name(option.mp_opt());
    match option {
        MultipathOption::Confirm(list) => {
            let confirmed = list.iter().map(|(sequence, option)| {
                let option = MultipathOption::parse(&option).map_or_else(String::new, |it| description(&it));
                format!("{} {option}", sequence.value())
            });
            format!("{name}({})", confirmed.collect::<Vec<_>>().join(", "))
        }
        MultipathOption::Join(join) => {
            format!("{name} connection {:08x} address {}", join.connection, join.address_id)
        }
        MultipathOption::Key(MultipathKey { connection, keys, unread }) => {
            let types = keys.iter().map(|key| match key.key_type {
                KeyType::PlainText => "plain text".to_owned(),
                KeyType::Experimental => "experimental".to_owned(),
            });
            let unread = unread.first().map(|number| format!("type {number}"));
            format!(
                "{name} connection {connection:08x} {}",
                types.chain(unread).collect::<Vec<_>>().join(", ")
            )
        }
        MultipathOption::Sequence(sequence) => format!("{name} {}", sequence.value()),
        MultipathOption::Rtt(report) => {
            let kind = match report.kind {
                RttKind::Raw => "last".to_owned(),
                RttKind::Minimum => "least".to_owned(),
                RttKind::Maximum => "greatest".to_owned(),
                RttKind::Smoothed => "smoothed".to_owned(),
                RttKind::Other(number) => format!("type {number}"),
            };
            format!("{name} {kind} {} ms, {} ms ago", report.rtt_millis, report.age_millis)
        }
        MultipathOption::AddAddress(AddAddress { address_id, nonce, address, port }) => {
            let port = port.map(|port| format!(" port {port}")).unwrap_or_default();
            format!("{name} {address_id} {address}{port}{}", form(*nonce))
        }
        MultipathOption::RemoveAddress(RemoveAddress { address_id, nonce }) => {
            format!("{name} {address_id}{}", form(*nonce))
        }
        MultipathOption::Priority(priority) => format!("{name} {}", priority.number()),
        MultipathOption::Experimental(data) => format!("{name} ({} bytes)", data.len()),
        _ => name,
    }
}

fn form(nonce: Option<u32>) -> &'static str {
    if nonce.is_none() { " (draft: no nonce)" } else { "" }
}

/// A Multipath option that could not be decoded.
pub(super) fn undecoded(option: &DccpOption, data: &[u8]) -> String {
    match data.first() {
        Some(&mp_opt) if mp_opt <= multipath::EXPERIMENTAL => {
            format!("{} invalid ({} bytes)", multipath_name(mp_opt), option.encoded_len())
        }
        Some(&mp_opt) => format!("Multipath? {} ({} bytes)", multipath_name(mp_opt), data.len()),
        None => "Multipath without MP_OPT".into(),
    }
}
