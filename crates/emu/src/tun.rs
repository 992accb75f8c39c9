//! TUN devices.

use std::ffi::CStr;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

/// `TUNSETIFF` and `TUNSETIFINDEX` of `linux/if_tun.h`: `_IOW('T', 202, int)` and `_IOW('T', 218, unsigned int)`.
const SET_INTERFACE: u32 = 0x4004_54ca;
const SET_INDEX: u32 = 0x4004_54da;

/// Makes a device of a file that was opened on `/dev/net/tun`, and returns its name; a `%d` in `name` is replaced by a number. With
/// `index`, the interface gets this number. Allocates nothing.
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
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request reads and writes an `ifreq`.
    Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), SET_INTERFACE as _, &mut request) })?;
    Ok(request.ifr_name.map(|byte| byte as u8))
}

/// The device of an end. It never blocks.
#[derive(Debug)]
pub(crate) struct Tun {
    file: OwnedFd,
}

impl Tun {
    pub(crate) fn new(file: OwnedFd) -> Self {
        Self { file }
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Appends a packet to `bytes`, which have the capacity for the longest. Returns `false` if there is none.
    pub(crate) fn read(&self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let room = bytes.spare_capacity_mut();
        // SAFETY: the kernel writes within the spare capacity.
        let read = unsafe { libc::read(self.file.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
        match Errno::result(read) {
            Ok(read) => {
                // SAFETY: the kernel has written that many bytes there.
                unsafe { bytes.set_len(bytes.len() + read as usize) };
                Ok(read > 0)
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands a packet to the kernel. Returns `false` if the kernel discards it: the device is down or the packet is no IP packet.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<bool> {
        // SAFETY: the kernel reads within `packet`.
        let written = unsafe { libc::write(self.file.as_raw_fd(), packet.as_ptr().cast(), packet.len()) };
        match Errno::result(written) {
            Ok(_) => Ok(true),
            Err(Errno::EIO | Errno::EINVAL | Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
