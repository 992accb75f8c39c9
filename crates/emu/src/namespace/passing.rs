//! File descriptors through a socket (SCM_RIGHTS, unix(7)).

use std::io;
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::libc;

/// The most descriptors in one message.
pub(super) const MOST: usize = 6;
/// Bytes of the message that carries them.
pub(super) const BYTES: usize = 12;

/// Room for the descriptors, aligned as the kernel's headers are.
#[repr(C)]
union Control {
    _header: libc::cmsghdr,
    bytes: [u8; 64],
}

/// Sends bytes and descriptors. Allocates nothing, as it is called between `fork` and the end of the child.
pub(super) fn send(socket: RawFd, bytes: [u8; BYTES], descriptors: &[RawFd]) -> io::Result<()> {
    assert!(descriptors.len() <= MOST);
    let mut bytes = bytes;
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: BYTES };
    let mut control = Control { bytes: [0; 64] };
    // SAFETY: `msghdr` is a C struct for which zeros are valid. Its pointers lead to `part` and `control`,
    // which outlive the call. The control buffer has room for `MOST` descriptors (CMSG_SPACE(24) = 40 bytes),
    // and the CMSG macros stay inside it.
    let sent = unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        if !descriptors.is_empty() {
            let length = mem::size_of_val(descriptors);
            message.msg_control = ptr::from_mut(&mut control).cast();
            message.msg_controllen = libc::CMSG_SPACE(length as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length as u32) as _;
            ptr::copy_nonoverlapping(descriptors.as_ptr().cast::<u8>(), libc::CMSG_DATA(header), length);
        }
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL)
    };
    if sent == BYTES as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives what [`send`] sent; `None` if the sender ended without.
pub(super) fn receive(socket: RawFd) -> io::Result<Option<([u8; BYTES], Vec<OwnedFd>)>> {
    let mut bytes = [0; BYTES];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: BYTES };
    let mut control = Control { bytes: [0; 64] };
    let mut descriptors = Vec::new();
    // SAFETY: as in `send`; the descriptors of a message that was received belong to nothing else yet.
    let received = unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = ptr::from_mut(&mut control).cast();
        message.msg_controllen = mem::size_of::<Control>() as _;
        let received = libc::recvmsg(socket, &mut message, libc::MSG_CMSG_CLOEXEC);
        let header = if received > 0 { libc::CMSG_FIRSTHDR(&message) } else { ptr::null_mut() };
        if !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
            let length = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            for position in 0..length / mem::size_of::<RawFd>() {
                descriptors.push(OwnedFd::from_raw_fd(ptr::read_unaligned(data.add(position))));
            }
        }
        received
    };
    match received {
        -1 => Err(io::Error::last_os_error()),
        length if length == BYTES as isize => Ok(Some((bytes, descriptors))),
        _ => Ok(None),
    }
}
