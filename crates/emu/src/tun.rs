//! TUN devices.

use std::ffi::CStr;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use whimbrel_lab::emulation::{BoxedPacket, EmulatedPacket, HEADROOM};

use crate::offload::{HEADER, Joiner, MOST_JOINED, Offload, split};

/// `TUNSETIFF` and `TUNSETIFINDEX` of `linux/if_tun.h`: `_IOW('T', 202, int)` and
/// `_IOW('T', 218, unsigned int)`.
const SET_INTERFACE: u32 = 0x4004_54ca;
const SET_INDEX: u32 = 0x4004_54da;
/// `TUNSETOFFLOAD`: `_IOW('T', 208, unsigned int)`.
const SET_OFFLOADS: u32 = 0x4004_54d0;
const TCP_OFFLOADS: u32 = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
const UDP_OFFLOADS: u32 = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Makes a device of a file that was opened on `/dev/net/tun`, and returns its name; a `%d` in `name` is
/// replaced by a number. With `index`, the interface gets this number. Allocates nothing.
pub(crate) fn create(
    file: BorrowedFd<'_>,
    name: &CStr,
    index: Option<u32>,
) -> Result<[u8; libc::IFNAMSIZ], Errno> {
    if let Some(index) = index {
        // SAFETY: the request reads a number.
        Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), SET_INDEX as _, &index) })?;
    }
    // SAFETY: `ifreq` is a C struct for which zeros are valid.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let bytes = name.to_bytes();
    if bytes.len() >= request.ifr_name.len() {
        return Err(Errno::ENAMETOOLONG);
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: the request reads and writes an `ifreq`.
    Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), SET_INTERFACE as _, &mut request) })?;
    // Aggregates of UDP are since Linux 6.2.
    for offloads in [TCP_OFFLOADS | UDP_OFFLOADS, TCP_OFFLOADS] {
        // SAFETY: the request takes a number.
        if unsafe { libc::ioctl(file.as_raw_fd(), SET_OFFLOADS as _, libc::c_ulong::from(offloads)) } == 0 {
            break;
        }
    }
    Ok(request.ifr_name.map(|byte| byte as u8))
}

/// The device of an end. It never blocks.
#[derive(Debug)]
pub(crate) struct Tun {
    file: OwnedFd,
    /// Longest packet.
    mtu: usize,
    /// Room for an aggregate, behind room for one packet.
    aggregate: Vec<u8>,
    joiner: Joiner,
}

/// The outcome of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// Nothing is there.
    Nothing,
    /// Packets were read.
    Packets,
    /// An aggregate that cannot be split.
    Malformed,
}

impl Tun {
    pub(crate) fn new(file: OwnedFd, mtu: usize) -> Self {
        Self {
            file,
            mtu,
            aggregate: vec![0; HEADER + mtu + usize::from(u16::MAX)],
            joiner: Joiner::default(),
        }
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Reads a packet, or the packets of an aggregate, into packets of `pool`.
    pub(crate) fn read(&mut self, pool: &mut Pool, packets: &mut Vec<BoxedPacket>) -> io::Result<Read> {
        let mut packet = pool.take(self.mtu);
        packet.bytes.clear();
        packet.bytes.resize(HEADROOM - HEADER, 0);
        let room = HEADER + self.mtu;
        let spare = &mut packet.bytes.spare_capacity_mut()[..room];
        let rest = &mut self.aggregate[room..];
        let parts = [
            libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: room },
            libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() },
        ];
        // SAFETY: the kernel writes within the two parts.
        let read = unsafe { libc::readv(self.file.as_raw_fd(), parts.as_ptr(), 2) };
        let length = match Errno::result(read) {
            Ok(length) => length as usize,
            Err(Errno::EAGAIN | Errno::EINTR) => {
                pool.put(packet);
                return Ok(Read::Nothing);
            }
            Err(error) => return Err(error.into()),
        };
        // SAFETY: the kernel has written that many bytes there.
        unsafe { packet.bytes.set_len(HEADROOM - HEADER + length.min(room)) };
        let mut header = [0; HEADER];
        match packet.bytes.get(HEADROOM - HEADER..HEADROOM) {
            Some(bytes) => header.copy_from_slice(bytes),
            None => return Ok(Read::Malformed),
        }
        let offload = Offload::read(&header);
        if !offload.is_aggregate() && length <= room {
            offload.complete(packet.ip_mut());
            packets.push(packet);
            return Ok(Read::Packets);
        }
        self.aggregate[..length.min(room)].copy_from_slice(&packet.bytes[HEADROOM - HEADER..]);
        pool.put(packet);
        let (aggregate, mtu) = (&self.aggregate[HEADER..length], self.mtu);
        let is_split = split(aggregate, offload, || pool.take(mtu), |packet| packets.push(packet));
        Ok(if is_split { Read::Packets } else { Read::Malformed })
    }

    /// The number of packets at the beginning of `packets` that the kernel takes as one.
    pub(crate) fn run<'p>(&mut self, mut packets: impl Iterator<Item = &'p EmulatedPacket>) -> usize {
        let Some(first) = packets.next() else { return 0 };
        self.joiner.start(first.ip());
        1 + packets
            .take(MOST_JOINED - 1)
            .take_while(|packet| self.joiner.add(first.ip(), packet.ip()))
            .count()
    }

    /// Hands the packets of a [`run`](Self::run) to the kernel. Returns `false` if the kernel discards them:
    /// the device is down, or they are no IP packets.
    pub(crate) fn write(&mut self, first: &mut EmulatedPacket, others: &[BoxedPacket]) -> io::Result<bool> {
        let last_flags = others.last().map_or(0, |last| self.joiner.flags(last.ip()));
        self.joiner.finish(first, others.len() + 1, last_flags);
        let part =
            |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut parts = [part(&[]); MOST_JOINED];
        parts[0] = part(&first.bytes[HEADROOM - HEADER..]);
        for (place, packet) in parts[1..].iter_mut().zip(others) {
            *place = part(&packet.ip()[self.joiner.data_start()..]);
        }
        // SAFETY: the kernel reads within the parts, which outlive the call.
        let written =
            unsafe { libc::writev(self.file.as_raw_fd(), parts.as_ptr(), (others.len() + 1) as libc::c_int) };
        match Errno::result(written) {
            Ok(_) => Ok(true),
            Err(Errno::EIO | Errno::EINVAL | Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Packets whose memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Packets that are not in use.
    pub(crate) packets: Vec<BoxedPacket>,
}

impl Pool {
    /// A packet with room for `mtu` bytes.
    pub(crate) fn take(&mut self, mtu: usize) -> BoxedPacket {
        self.packets.pop().unwrap_or_else(|| Box::new(EmulatedPacket::with_capacity(mtu)))
    }

    /// Gives a packet back.
    pub(crate) fn put(&mut self, packet: BoxedPacket) {
        self.packets.push(packet);
    }
}
