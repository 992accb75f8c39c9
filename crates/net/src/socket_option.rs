//! Options of Linux's sockets that no library reads safely.

use std::os::fd::{AsFd, AsRawFd};

use nix::libc;

/// Reads the first `N` words of 32 bits of a socket's option, such as `SO_MEMINFO` or `TCP_INFO`.
///
/// `None` if the kernel has fewer, as older and emulated ones do. The getter of `nix` panics there.
#[expect(unsafe_code, reason = "no library accepts an option that is shorter than expected")]
pub fn option_words<const N: usize>(socket: &impl AsFd, level: i32, name: i32) -> Option<[u32; N]> {
    let mut words = [0; N];
    let mut length = size_of_val(&words) as libc::socklen_t;
    let into = words.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes, which `words` has, and the new length.
    let result = unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, into, &raw mut length) };
    (result == 0 && length as usize == size_of_val(&words)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_shorter_than_expected_is_none() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let kind: Option<[u32; 1]> = option_words(&socket, libc::SOL_SOCKET, libc::SO_TYPE);
        assert_eq!(kind, Some([libc::SOCK_DGRAM as u32]));
        assert_eq!(option_words::<2>(&socket, libc::SOL_SOCKET, libc::SO_TYPE), None);
    }
}
