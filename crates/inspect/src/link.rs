//! From a frame to the IP packet in it.

#[cfg(test)]
mod tests;

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
/// Raw IP, as some systems number it in their files.
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
const RAW: u16 = 101;
const LOOP: u16 = 108;
const LINUX_COOKED: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_COOKED_2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;

/// The IP packet in a frame; `None` where there is none or where it is cut off before it begins.
/// `Err` names a link type that is not known.
pub fn ip_packet(link_type: u16, frame: &[u8]) -> Result<Option<&[u8]>, u16> {
    Ok(match link_type {
        ETHERNET => ether_type(frame, 12).and_then(|kind| ip_of(kind, frame.get(14..)?)),
        LINUX_COOKED => ether_type(frame, 14).and_then(|kind| ip_of(kind, frame.get(16..)?)),
        LINUX_COOKED_2 => ether_type(frame, 0).and_then(|kind| ip_of(kind, frame.get(20..)?)),
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => Some(frame).filter(|frame| !frame.is_empty()),
        NULL | LOOP => after_family(frame),
        unknown => return Err(unknown),
    })
}

/// The name of a link type, as Wireshark and tcpdump have it.
pub fn link_name(link_type: u16) -> &'static str {
    match link_type {
        NULL => "null",
        ETHERNET => "Ethernet",
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => "raw IP",
        LOOP => "loop",
        LINUX_COOKED => "Linux cooked v1",
        LINUX_COOKED_2 => "Linux cooked v2",
        _ => "unknown",
    }
}

fn ether_type(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}

/// What comes after an EtherType, with any number of VLAN tags (802.1Q, 802.1ad and its forerunner).
fn ip_of(mut kind: u16, mut rest: &[u8]) -> Option<&[u8]> {
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
        kind = ether_type(rest, 2)?;
        rest = rest.get(4..)?;
    }
    matches!(kind, ETHERTYPE_IPV4 | ETHERTYPE_IPV6).then_some(rest).filter(|rest| !rest.is_empty())
}

/// What comes after an address family. Its byte order is that of the machine that captured, and the
/// number of IPv6 that of its system.
fn after_family(frame: &[u8]) -> Option<&[u8]> {
    let (family, rest) = frame.split_first_chunk::<4>()?;
    let family = u32::from_be_bytes(*family);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    matches!(family, 2 | 10 | 24 | 28 | 30).then_some(rest).filter(|rest| !rest.is_empty())
}
