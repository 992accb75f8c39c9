//! IP packets in 802.11 data frames (IEEE Std 802.11-2016, clause 9), and the headers that captures put
//! before the frames.

use whimbrel_wifi::frame::bytes::{Flags, Header, PayloadHeader};

use super::{Frame, NoPacket, Packets, after, ip_of, place_of};

/// LLC header of SNAP, and the organizations whose protocol number is an EtherType: RFC 1042, and the bridge
/// tunnel (802.1H).
const LLC_SNAP: [u8; 3] = [0xaa, 0xaa, 0x03];
const ETHERNET_ORGANIZATIONS: [[u8; 3]; 2] = [[0, 0, 0], [0, 0, 0xf8]];

/// QoS control: the body is an A-MSDU (9.2.4.5.9).
const QOS_AMSDU: u16 = 0x0080;
/// QoS control in a mesh: the body begins with a Mesh Control field (9.2.4.5.11).
const QOS_MESH_CONTROL: u16 = 0x0100;
/// HT Control, behind QoS control.
const HT_CONTROL: usize = 4;
/// Subtypes of data frames with this bit carry no data.
const NO_DATA: u8 = 0x4;
/// Destination, source and length of a subframe of an A-MSDU (9.3.2.2).
const SUBFRAME_HEADER: usize = 14;

/// The IP packets in a data frame. `is_padded`: header and body are separated by bytes up to a multiple of
/// four.
pub(super) fn parse(frame: &[u8], is_padded: bool) -> Result<Frame<'_>, NoPacket> {
    let (header, rest) = Header::parse(frame).map_err(|_| NoPacket::Cut)?;
    let Header::Data(header) = header else { return Err(NoPacket::NotIp) };
    if header.subtype & NO_DATA != 0 {
        return Err(NoPacket::NotIp);
    }
    if header.flags.contains(Flags::PROTECTED) {
        return Err(NoPacket::Encrypted);
    }
    if header.fragment > 0 || header.flags.contains(Flags::MORE_FRAGMENTS) {
        return Err(NoPacket::Fragment);
    }
    let mut length = frame.len() - rest.len();
    if header.qos.is_some() && header.flags.contains(Flags::ORDER) {
        length += HT_CONTROL;
    }
    if is_padded {
        length = length.next_multiple_of(4);
    }
    let body = after(frame, length)?;
    let qos = header.qos.unwrap_or_default();
    let is_mesh = qos & QOS_MESH_CONTROL != 0;
    let packets = if qos & QOS_AMSDU != 0 {
        Packets::Aggregate(Aggregate { rest: body, is_mesh })
    } else {
        Packets::One(msdu(body, is_mesh)?)
    };
    Ok(Frame { packets, place: place(&header), is_retry: header.flags.contains(Flags::RETRY) })
}

/// A hop between two stations.
fn place(header: &PayloadHeader) -> u64 {
    place_of(&(header.transmitter.0, header.receiver.0))
}

/// The IP packet of an MSDU. Outside meshes, the bit of a Mesh Control field has another meaning: the LLC
/// header decides.
fn msdu(body: &[u8], may_be_mesh: bool) -> Result<&[u8], NoPacket> {
    let body = if may_be_mesh && !body.starts_with(&LLC_SNAP) { after_mesh_control(body)? } else { body };
    after_snap(body)
}

/// The rest behind a Mesh Control field: flags, time to live, sequence number and up to two more addresses
/// (9.2.4.7.3).
fn after_mesh_control(body: &[u8]) -> Result<&[u8], NoPacket> {
    let addresses = usize::from(body.first().ok_or(NoPacket::Cut)? & 3);
    after(body, 6 + 6 * addresses.min(2))
}

/// The IP packet behind LLC and SNAP headers.
pub(super) fn after_snap(body: &[u8]) -> Result<&[u8], NoPacket> {
    let (header, rest) = body.split_first_chunk::<8>().ok_or(NoPacket::Cut)?;
    let [llc @ .., a, b, c, high, low] = *header;
    let kind = u16::from_be_bytes([high, low]);
    // A length in the place of the EtherType would lead to another LLC header.
    let is_ethernet = llc == LLC_SNAP && ETHERNET_ORGANIZATIONS.contains(&[a, b, c]) && kind >= 0x0600;
    if is_ethernet { ip_of(kind, rest) } else { Err(NoPacket::NotIp) }
}

/// The subframes of an A-MSDU that are left.
#[derive(Clone, Debug)]
pub(super) struct Aggregate<'a> {
    rest: &'a [u8],
    is_mesh: bool,
}

impl<'a> Iterator for Aggregate<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let header = self.rest.get(..SUBFRAME_HEADER)?;
            let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
            let subframe = &self.rest[SUBFRAME_HEADER..];
            // A capture may end inside; the frame check sequence behind the last subframe is shorter than a
            // header.
            let msdu = &subframe[..length.min(subframe.len())];
            self.rest = self.rest.get((SUBFRAME_HEADER + length).next_multiple_of(4)..).unwrap_or_default();
            if let Ok(packet) = self::msdu(msdu, self.is_mesh) {
                return Some(packet);
            }
        }
    }
}

/// The 802.11 frame behind the header of Prism cards, whose length is in the byte order of the capturing
/// machine, or behind AVS's.
pub(super) fn after_prism(frame: &[u8]) -> Result<&[u8], NoPacket> {
    let (header, _) = frame.split_first_chunk::<8>().ok_or(NoPacket::Cut)?;
    let [a, b, c, d, length @ ..] = *header;
    // Version 1 of AVS, in network byte order.
    let is_avs = [a, b, c] == [0x80, 0x21, 0x10] && d < 0x10;
    let (little, big) = (u32::from_le_bytes(length), u32::from_be_bytes(length));
    let length = if is_avs { big } else { little.min(big) };
    after(frame, usize::try_from(length).unwrap_or(usize::MAX))
}

/// Field of a PPI header with the properties of an 802.11 frame, and the flag of a wrong frame check sequence
/// in it.
const PPI_80211_COMMON: u16 = 2;
const PPI_BAD_FCS: u16 = 0x0004;

/// The link type of the frame behind a Per-Packet Information header, and the frame.
pub(super) fn after_ppi(frame: &[u8]) -> Result<(u16, &[u8]), NoPacket> {
    let (fixed, _) = frame.split_first_chunk::<8>().ok_or(NoPacket::Cut)?;
    let length = usize::from(u16::from_le_bytes([fixed[2], fixed[3]]));
    let link_type = u32::from_le_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    let link_type = u16::try_from(link_type).map_err(|_| NoPacket::NotIp)?;
    let (header, rest) = frame.split_at_checked(length).ok_or(NoPacket::Cut)?;
    let mut fields = header.get(fixed.len()..).unwrap_or_default();
    while let Some((&[a, b, c, d], behind)) = fields.split_first_chunk::<4>() {
        let (kind, length) = (u16::from_le_bytes([a, b]), usize::from(u16::from_le_bytes([c, d])));
        let Some((field, behind)) = behind.split_at_checked(length) else { break };
        // The flags follow the MAC's clock.
        let flags = field.get(8..10).map_or(0, |flags| u16::from_le_bytes([flags[0], flags[1]]));
        if kind == PPI_80211_COMMON && flags & PPI_BAD_FCS != 0 {
            return Err(NoPacket::Damaged);
        }
        fields = behind;
    }
    Ok((link_type, rest))
}
