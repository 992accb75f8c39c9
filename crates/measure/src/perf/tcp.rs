//! The kernel's TCP: how much is written at once, the congestion control, and the kernel's own figures.

use tokio::net::TcpStream;
use whimbrel_units::DataRate;

/// Bytes per write without a rate. Smaller writes measure the cost of system calls rather than the path:
/// iperf3 uses the same size.
pub(crate) const WRITE: u32 = 128 << 10;
/// The largest write that can be asked for.
pub const LARGEST_WRITE: u32 = 1 << 20;
/// The least write at a rate, unless a smaller one is asked for.
const LEAST_WRITE: f64 = 1200.0;
/// Time between two writes at a rate.
const SPACING_S: f64 = 0.01;

/// The size of writes at that rate.
pub fn write_size(rate: DataRate) -> u32 {
    if !rate.as_bits_per_second().is_finite() {
        return WRITE;
    }
    (rate.as_bits_per_second() / 8.0 * SPACING_S).clamp(LEAST_WRITE, f64::from(WRITE)) as u32
}

/// The kernel's figures of a connection's sender (`TCP_INFO`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct TcpFigures {
    /// Segments retransmitted since the start.
    pub(crate) retransmits: u64,
    /// cwnd in segments.
    pub(crate) cwnd: u32,
    /// Smoothed round-trip time in seconds.
    pub(crate) rtt_s: f64,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::offset_of;
    use std::os::fd::AsFd;

    use nix::libc::{self, tcp_info};

    use super::{TcpFigures, TcpStream};

    /// Words of `tcp_info` up to `tcpi_total_retrans`. Kernels append fields: an older one answers with fewer
    /// than the headers of this build name.
    const WORDS: usize = offset_of!(tcp_info, tcpi_total_retrans) / 4 + 1;

    /// The kernel's figures of a connection.
    pub(crate) fn figures(stream: &TcpStream) -> Option<TcpFigures> {
        let info: [u32; WORDS] = whimbrel_net::option_words(stream, libc::IPPROTO_TCP, libc::TCP_INFO)?;
        let word = |offset: usize| info[offset / 4];
        Some(TcpFigures {
            retransmits: word(offset_of!(tcp_info, tcpi_total_retrans)).into(),
            cwnd: word(offset_of!(tcp_info, tcpi_snd_cwnd)),
            rtt_s: f64::from(word(offset_of!(tcp_info, tcpi_rtt))) * 1e-6,
        })
    }

    /// Refusal of the congestion control that a client names, if any. For a privileged process, the kernel
    /// would load a module of that name.
    pub(crate) fn objection_to_congestion(name: Option<&str>) -> Option<String> {
        let name = name?;
        let loaded = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let loaded = loaded.unwrap_or_default();
        if loaded.split_ascii_whitespace().all(|known| known != name) {
            let loaded = loaded.trim().replace(' ', ", ");
            return Some(format!(
                "TCP congestion control {name:?} is not loaded in its kernel: expected one of {loaded}"
            ));
        }
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).ok()?;
        set_congestion(&socket, name).err().map(|error| error.to_string())
    }

    /// Selects the kernel's congestion control of a connection.
    ///
    /// # Errors
    /// The kernel does not have it, or does not allow it to this user; the message lists the allowed ones.
    pub(crate) fn set_congestion<S: AsFd>(socket: S, name: &str) -> anyhow::Result<()> {
        rustix::net::sockopt::set_tcp_congestion(socket, name).map_err(|error| {
            let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
            let allowed = allowed.map_or_else(|_| "unknown".into(), |text| text.trim().replace(' ', ", "));
            anyhow::anyhow!(
                "TCP congestion control {name:?} is not available here ({error}): expected one of {allowed}"
            )
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use super::{TcpFigures, TcpStream};

    pub(crate) fn figures(_: &TcpStream) -> Option<TcpFigures> {
        None
    }

    pub(crate) fn objection_to_congestion(name: Option<&str>) -> Option<String> {
        name.map(|name| format!("TCP congestion control {name:?}: only Linux can select it"))
    }

    pub(crate) fn set_congestion<S>(_: S, name: &str) -> anyhow::Result<()> {
        anyhow::bail!("TCP congestion control {name:?}: only Linux can select it")
    }
}

pub(crate) use linux::{figures, objection_to_congestion, set_congestion};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_large_unless_a_low_rate_asks_for_small_ones() {
        let size = |megabits| write_size(DataRate::from_megabits_per_second(megabits));
        assert_eq!(write_size(DataRate::INFINITE), 131_072);
        assert_eq!([size(0.1), size(8.0), size(1000.0)], [1200, 10_000, 131_072]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_reports_a_window_and_refuses_an_unknown_congestion_control() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let figures = figures(&stream).unwrap();
        assert!(figures.cwnd >= 2 && figures.retransmits == 0, "{figures:?}");
        let error = set_congestion(&stream, "nonesuch").unwrap_err().to_string();
        assert!(error.contains("\"nonesuch\" is not available here") && error.contains("reno"), "{error}");
        set_congestion(&stream, "reno").unwrap();
    }
}
