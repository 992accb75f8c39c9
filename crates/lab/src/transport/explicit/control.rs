//! The senders' laws on top of a reliable transport: window and pacing from allocations.

use whimbrel_control::explicit_rate::{
    AbcWindow, Demand, FlowHeader, RcpSender, XcpSender, rcp_winf, xcp_winf,
};
use whimbrel_netsim::Shim;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::{CrossLayer, Position, Scheme};
use crate::tcp::{SenderProgress, TcpSender};

/// Window of a sender whose rate is paced, in segments: no limit.
const UNLIMITED: f64 = 1e6;

/// Initial window in segments, as of draft-falk-xcp-spec-03's example and ns-2.
const INITIAL: f64 = 2.0;

/// The law of a sender.
#[derive(Debug)]
enum Law {
    Xcp(XcpSender),
    Rcp(RcpSender),
    Abc(AbcWindow),
}

/// Bytes of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSizes {
    /// Data.
    pub data: u32,
    /// All headers.
    pub headers: u32,
    /// The headers of IP and for routers, without TCP's.
    pub network_headers: u32,
}

impl PacketSizes {
    fn packet(self) -> u32 {
        self.data + self.headers
    }
}

/// The law of a sender on top of its TCP: the window or the pace, and the header of packets.
#[derive(Debug)]
pub(super) struct Control {
    scheme: Scheme,
    law: Law,
    sizes: PacketSizes,
    /// The largest window in segments.
    limit: f64,
    estimate: CrossLayer,
    before: SenderProgress,
    /// Start of this round-trip time, and bytes sent in it.
    round: (Instant, u64),
    /// The window limits the sending, not the application.
    is_limited: bool,
}

impl Control {
    pub(super) fn new(scheme: Scheme, sizes: PacketSizes, limit: Option<f64>, estimate: CrossLayer) -> Self {
        // RCP-Winf's interval between packets is MSS / rate (paper `winf`, algorithm 6), without headers.
        let paced = if scheme == Scheme::Rcp(true) { sizes.data } else { sizes.packet() };
        let packet = ByteCount::new(u64::from(paced));
        let law = match scheme {
            Scheme::Xcp(loss, _) => Law::Xcp(XcpSender::new(sizes.data, INITIAL, Demand::Unbounded, loss)),
            Scheme::Rcp(_) => Law::Rcp(RcpSender::new(packet, DataRate::INFINITE)),
            Scheme::Abc => Law::Abc(AbcWindow::new(INITIAL)),
        };
        let before = SenderProgress { fast_retransmits: 0, timeouts: 0, acknowledged: 0, smoothed_rtt: None };
        let round = (Instant::ZERO, 0);
        let limit = limit.unwrap_or(UNLIMITED);
        Self { scheme, law, sizes, limit, estimate, before, round, is_limited: true }
    }

    /// The header of the next packet. Its rate counts whole packets on the wire, as routers see them.
    pub(super) fn header(&self, rtt: Option<Duration>) -> Shim {
        let FlowHeader { rtt, rate, allocation } = match &self.law {
            Law::Xcp(sender) => self.xcp_header(sender, rtt),
            Law::Rcp(sender) => sender.header(),
            Law::Abc(window) => {
                let rtt = rtt.unwrap_or(Duration::ZERO);
                let bytes = window.packets() * f64::from(self.sizes.packet());
                let rate = if rtt.is_zero() {
                    DataRate::ZERO
                } else {
                    DataRate::from_bytes_per_second(bytes / rtt.as_secs_f64())
                };
                FlowHeader { rtt, rate, allocation: 1.0 }
            }
        };
        Shim { rtt, rate, allocation }
    }

    fn xcp_header(&self, sender: &XcpSender, rtt: Option<Duration>) -> FlowHeader {
        let wire = f64::from(self.sizes.packet()) / f64::from(self.sizes.data);
        // The window in force decides the rate, as in ns-2.
        let used = (self.limit * f64::from(self.sizes.data) / sender.window()).min(1.0);
        let mut header = match self.scheme {
            Scheme::Xcp(_, Some(reading)) => {
                let estimate = self.estimate.get(Position::Sender);
                let rate = sender.rate() * used;
                xcp_winf::header(reading, estimate, rate, DataRate::INFINITE, rtt, self.sizes.data)
            }
            _ => {
                let header = sender.header();
                FlowHeader { rate: header.rate * used, ..header }
            }
        };
        header.rate = header.rate * wire;
        if !self.is_limited {
            // The application does not use the present rate (draft-falk-xcp-spec-03, Section 4.1.1).
            header.allocation = header.allocation.min(0.0);
        }
        header
    }

    /// Processes a returned allocation. Routers count whole packets, and windows count segments of data.
    fn on_allocation(&mut self, tcp: &mut TcpSender, allocation: f64) {
        let rtt = tcp.progress().smoothed_rtt;
        let share = f64::from(self.sizes.data) / f64::from(self.sizes.packet());
        match &mut self.law {
            Law::Xcp(sender) => sender.on_feedback(allocation * share),
            Law::Rcp(sender) => {
                let allocation = match self.scheme {
                    Scheme::Rcp(true) => {
                        let rate = DataRate::from_bits_per_second(allocation);
                        let capacity = self.estimate.get(Position::Sender).map(|estimate| estimate.capacity);
                        let rtt = rtt.unwrap_or(Duration::ZERO);
                        let plan =
                            rcp_winf::plan(rate, capacity, rtt, self.sizes.data, self.sizes.network_headers);
                        tcp.set_window(if rtt.is_zero() { INITIAL } else { plan.window.max(1.0) });
                        plan.rate.as_bits_per_second()
                    }
                    // No router of RCP is on the path.
                    _ if !allocation.is_finite() => {
                        let packets = INITIAL * f64::from(self.sizes.packet()) * 8.0;
                        rtt.map_or(0.0, |rtt| packets / rtt.as_secs_f64().max(1e-6))
                    }
                    _ => allocation,
                };
                sender.on_feedback(allocation);
            }
            Law::Abc(window) => window.on_ack(allocation > 0.0),
        }
    }

    /// Processes what the TCP sender has done since the last call, and the allocation of an acknowledgement,
    /// if it was one. Then sets the window.
    pub(super) fn update(&mut self, now: Instant, tcp: &mut TcpSender, allocation: Option<f64>) {
        let after = tcp.progress();
        let before = core::mem::replace(&mut self.before, after);
        if let Some(rtt) = after.smoothed_rtt {
            match &mut self.law {
                Law::Xcp(sender) => sender.set_rtt(rtt),
                Law::Rcp(sender) => sender.set_rtt(rtt),
                Law::Abc(_) => {}
            }
        }
        if let Some(allocation) = allocation {
            self.on_allocation(tcp, allocation);
        }
        let signal = tcp.loss_signal(now);
        let acked = after.acknowledged.saturating_sub(before.acknowledged);
        let (lost, expired) =
            (after.fast_retransmits > before.fast_retransmits, after.timeouts > before.timeouts);
        match &mut self.law {
            Law::Xcp(sender) => {
                if acked > 0 {
                    sender.on_ack(&tcp.acknowledgement(now, acked));
                }
                if lost {
                    sender.on_congestion(&signal);
                }
                if expired {
                    sender.on_timeout(&signal, acked == 0 && before.timeouts > 0);
                }
            }
            Law::Abc(window) => {
                if lost {
                    window.on_congestion();
                }
                if expired {
                    *window = AbcWindow::new(1.0);
                }
            }
            Law::Rcp(_) => {}
        }
        self.end_round(now, tcp.is_window_limited(), after.smoothed_rtt);
        match &self.law {
            Law::Xcp(sender) => tcp.set_window(sender.window() / f64::from(self.sizes.data)),
            Law::Rcp(_) if self.scheme == Scheme::Rcp(true) => {}
            Law::Rcp(_) => tcp.set_window(UNLIMITED),
            Law::Abc(window) => tcp.set_window(window.packets()),
        }
    }

    /// Lets the window of a sender age whose application does not use it.
    fn end_round(&mut self, now: Instant, is_limited: bool, rtt: Option<Duration>) {
        self.is_limited = is_limited;
        let (start, bytes) = self.round;
        let elapsed = now.saturating_since(start);
        if rtt.is_none_or(|rtt| elapsed < rtt) {
            return;
        }
        self.round = (now, 0);
        if let (Law::Xcp(sender), false) = (&mut self.law, is_limited) {
            sender.on_round_trip(ByteCount::new(bytes) / elapsed);
        }
    }

    /// Processes the sending of a segment with `length` bytes of data.
    pub(super) fn on_sent(&mut self, now: Instant, length: u32) {
        self.round.1 += u64::from(length);
        if let Law::Rcp(sender) = &mut self.law {
            if length > 0 { sender.on_sent(now) } else { sender.on_probe_sent(now) }
        }
    }

    /// The time from which a segment may be sent; `None` if the window alone limits.
    pub(super) fn not_before(&self) -> Option<Instant> {
        match &self.law {
            Law::Rcp(sender) if sender.rate().is_some() => {
                Some(sender.next_send_time().unwrap_or(Instant::FAR_FUTURE))
            }
            _ => None,
        }
    }

    /// The time of the next probe.
    pub(super) fn next_probe(&self) -> Option<Instant> {
        match &self.law {
            Law::Rcp(sender) => sender.next_probe_time(),
            _ => None,
        }
    }

    /// The allowed rate in bit/s; NaN if the sender has a window only.
    pub(super) fn allowed_rate(&self) -> f64 {
        match &self.law {
            Law::Rcp(sender) => sender.rate().map_or(f64::NAN, DataRate::as_bits_per_second),
            Law::Xcp(sender) => sender.rate().as_bits_per_second(),
            Law::Abc(_) => f64::NAN,
        }
    }
}
