//! Limits of what clients may request from a server.

use std::net::IpAddr;

use whimbrel_relay::address::is_loopback;
use whimbrel_units::{DataRate, Duration};

use super::plan::{Plan, Transport};
use super::tcp::objection_to_congestion;

/// Reasons for refusing a client that wants encryption, or does not.
const NO_KEYS: &str = "it has no keys for encryption: start it with --secret-file or --peer-fingerprint, or the client \
                       with --insecure-plaintext as well";
const ENCRYPTED_ONLY: &str = "it serves encrypted tests only: give this end the same --secret-file, or \
                              --peer-fingerprint, or neither end a key";
const NOT_PLAIN: &str = "it serves tests in plaintext to its own host only: give both ends the same --secret-file, or \
                         start it with --insecure-plaintext";
const NO_KERNEL: &str = "it has keys and serves encrypted DCCP only: start it with --allow-kernel-transports for tests of UDP and TCP";
/// Reason for refusing a client that requests DCCP without UDP.
const NO_NATIVE: &str = "it serves DCCP inside UDP only: start it with --native or --tun";
/// The rate of plain UDP in bit/s, which nothing else limits.
const UDP_RATE: f64 = 1e9;
/// Intervals of a test, whose figures are kept for a client that loses its connection.
const MAX_INTERVALS: u64 = 100_000;

/// Limits of what clients may request from a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The highest rate at which this end sends in a test, all streams together; tests without a rate are
    /// refused then. By default, 1 Gbit/s of plain UDP, and what congestion control allows of the rest.
    pub max_rate: Option<DataRate>,
    /// The longest test, and the longest patience of a client.
    pub max_time: Duration,
    /// Tests at a time.
    pub max_tests: u16,
    /// Serve tests of plain UDP and TCP although this server has keys: anyone can request them.
    pub allow_kernel_transports: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_rate: None,
            max_time: Duration::from_secs(3600),
            max_tests: 16,
            allow_kernel_transports: false,
        }
    }
}

impl Limits {
    /// The longest time for which a test can hold its place.
    pub(super) fn longest(&self, plan: &Plan) -> Duration {
        // A test that ends with its data names no useful time.
        plan.times.total().min(self.max_time) + plan.times.patience().min(self.max_time)
    }

    /// The reason why a server refuses the plan of a client at `peer`, if any.
    pub(super) fn objection(
        &self,
        plan: &Plan,
        peer: IpAddr,
        is_plaintext_allowed: bool,
        (is_secured, has_native): (bool, bool),
    ) -> Option<String> {
        plan.objection()
            .or_else(|| (plan.dccp.native && !has_native).then(|| NO_NATIVE.to_owned()))
            .or_else(|| self.objection_to_plain(plan, is_secured, is_plaintext_allowed, peer))
            .or_else(|| self.objection_to_times(plan))
            .or_else(|| self.objection_to_rate(plan))
            .or_else(|| {
                plan.direction.server_sends().then(|| objection_to_congestion(plan.congestion.as_deref()))?
            })
    }

    /// The reason why the ends do not agree on encryption, if they do not.
    fn objection_to_plain(
        &self,
        plan: &Plan,
        is_secured: bool,
        is_plaintext_allowed: bool,
        peer: IpAddr,
    ) -> Option<String> {
        let reason = match (plan.transport, plan.dccp.secured, is_secured) {
            (Transport::Dccp, true, false) => NO_KEYS,
            (Transport::Dccp, false, true) => ENCRYPTED_ONLY,
            (Transport::Dccp, false, false) if !is_plaintext_allowed && !is_loopback(peer) => NOT_PLAIN,
            (Transport::Udp | Transport::Tcp, _, true) if !self.allow_kernel_transports => NO_KERNEL,
            _ => return None,
        };
        Some(reason.to_owned())
    }

    fn objection_to_times(&self, plan: &Plan) -> Option<String> {
        let most = self.max_time.as_secs_f64();
        let ends_with_data = plan.load.bytes.is_some();
        if !ends_with_data && plan.times.total() > self.max_time {
            Some(format!("its tests last {most} s at most: --max-time at the server"))
        } else if plan.times.patience() > self.max_time {
            Some(format!("it waits {most} s at most for a client: --max-time at the server"))
        } else if plan.times.patience_s > 0.0 && !ends_with_data && plan.times.ticks() > MAX_INTERVALS {
            Some(format!(
                "a test with patience has {MAX_INTERVALS} intervals at most: choose a longer --interval"
            ))
        } else {
            None
        }
    }

    fn objection_to_rate(&self, plan: &Plan) -> Option<String> {
        let most = match (self.max_rate, plan.transport) {
            (Some(most), _) => most.as_bits_per_second(),
            (None, Transport::Udp) => UDP_RATE,
            (None, _) => return None,
        };
        let wanted = plan.load.rate_bps.unwrap_or(f64::INFINITY) * f64::from(plan.streams);
        let is_too_much = plan.direction.server_sends() && wanted > most;
        is_too_much.then(|| {
            let most = most * 1e-6;
            format!("it sends at most {most} Mbit/s in a test, all streams together: choose a lower --rate, or --max-rate at the server")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Direction;
    use super::super::plan::tests::plan_with;
    use super::*;

    /// The reason for refusing a client on this host.
    fn objection(limits: &Limits, is_secured: bool, change: impl FnOnce(&mut Plan)) -> String {
        let here = IpAddr::from([127, 0, 0, 1]);
        let plan = plan_with(change);
        limits.objection(&plan, here, false, (is_secured, false)).unwrap_or_default()
    }

    fn udp_down(rate_bps: Option<f64>) -> impl FnOnce(&mut Plan) {
        move |plan| {
            (plan.transport, plan.direction) = (Transport::Udp, Direction::Down);
            plan.load.rate_bps = rate_bps;
        }
    }

    #[test]
    fn the_rate_of_all_streams_together_is_limited() {
        let limits = Limits::default();
        assert_eq!(objection(&limits, false, |_| {}), "");
        assert_eq!(objection(&limits, false, udp_down(Some(1e9))), "");
        assert!(objection(&limits, false, udp_down(None)).contains("at most 1000 Mbit/s"));
        let many = |plan: &mut Plan| {
            udp_down(Some(1e7))(plan);
            plan.streams = 101;
        };
        assert!(objection(&limits, false, many).contains("at most 1000 Mbit/s"));
        let own = Limits { max_rate: Some(DataRate::from_megabits_per_second(5.0)), ..limits };
        assert!(objection(&own, false, |plan| plan.direction = Direction::Both).contains("at most 5 Mbit/s"));
        assert_eq!(objection(&own, false, |_| {}), "", "the client sends");
    }

    #[test]
    fn a_client_holds_a_server_for_its_longest_time_at_most() {
        let limits = Limits::default();
        assert!(objection(&limits, false, |plan| plan.times.time_s = 3601.0).contains("3600 s"));
        assert!(objection(&limits, false, |plan| plan.times.patience_s = 3601.0).contains("3600 s"));
        let ends_with_data = |plan: &mut Plan| {
            plan.load.bytes = Some(1 << 40);
            plan.times.time_s = 1e6;
        };
        assert_eq!(objection(&limits, false, ends_with_data), "");
        let longest = limits.longest(&plan_with(ends_with_data)).as_secs_f64();
        assert_eq!(longest, 3600.0);
    }

    #[test]
    fn a_server_with_keys_serves_nothing_plain_unless_told() {
        let limits = Limits::default();
        for transport in [Transport::Udp, Transport::Tcp] {
            let wanted = |plan: &mut Plan| (plan.transport, plan.load.rate_bps) = (transport, Some(1e6));
            assert!(objection(&limits, true, wanted).contains("encrypted DCCP only"));
            let told = Limits { allow_kernel_transports: true, ..limits.clone() };
            assert_eq!(objection(&told, true, wanted), "");
            assert_eq!(objection(&limits, false, wanted), "");
        }
    }

    /// The kernel loads a module by the name that a privileged process passes to it.
    #[test]
    fn only_a_congestion_control_that_the_kernel_has_already_is_used() {
        let wanted = |name: &'static str| {
            objection(&Limits::default(), false, move |plan| {
                (plan.transport, plan.direction) = (Transport::Tcp, Direction::Down);
                plan.congestion = Some(name.to_owned());
            })
        };
        if cfg!(target_os = "linux") {
            assert_eq!(wanted("reno"), "");
            assert!(wanted("nonesuch").contains("not loaded"), "{}", wanted("nonesuch"));
        }
    }
}
