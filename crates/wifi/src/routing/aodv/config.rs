//! Parameters of AODV.

use whimbrel_units::Duration;

use crate::routing::BufferConfig;

/// The rule for a local repair of a route (RFC 3561 section 6.12).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LocalRepair {
    /// No local repair: the break is reported.
    #[default]
    Never,
    /// A route in use to a destination that is not farther than MAX_REPAIR_TTL (0.3 times the network's
    /// diameter) is repaired, and an error is reported if that fails.
    Rfc3561,
    /// The route of a data packet that the link layer gave up is repaired if the packet has made more hops
    /// than remain to its destination. The route keeps its number meanwhile, and requests for its destination
    /// are answered; the other routes over the neighbour stay up, and a repair that fails is not reported
    /// (`rt_ll_failed` and `local_rt_repair` of `aodv.cc`).
    Ns2,
}

/// A rule on which ns-2.35 differs from RFC 3561.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum AodvRule {
    /// The RFC's rule.
    #[default]
    Rfc3561,
    /// The rule of ns-2.35 (`aodv/aodv.cc`).
    Ns2,
}

/// Parameters of an [`Aodv`](super::Aodv) agent, with the names of RFC 3561 section 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AodvConfig {
    /// ACTIVE_ROUTE_TIMEOUT: lifetime of a route since its last use.
    pub active_route_timeout: Duration,
    /// MY_ROUTE_TIMEOUT: lifetime that a destination gives to routes to it.
    pub my_route_timeout: Duration,
    /// DELETE_PERIOD: time for which the sequence number of an invalid route is kept. It must exceed the time
    /// for which any node upstream may regard the route as valid, else loops are possible.
    pub delete_period: Duration,
    /// NODE_TRAVERSAL_TIME: estimate of the time that a packet takes for a hop.
    pub node_traversal_time: Duration,
    /// NET_DIAMETER: greatest number of hops between two nodes.
    pub net_diameter: u8,
    /// RREQ_RETRIES: repetitions of a request that went through the whole network.
    pub request_retries: u32,
    /// RREQ_RATELIMIT: route requests that a node may originate per second.
    pub request_rate_limit: usize,
    /// RERR_RATELIMIT: route errors that a node may originate per second.
    pub error_rate_limit: usize,
    /// TTL_START: reach of the first request; [`net_diameter`](Self::net_diameter) switches the expanding
    /// ring off.
    pub ttl_start: u8,
    /// TTL_INCREMENT: growth of the reach from one request to the next.
    pub ttl_increment: u8,
    /// TTL_THRESHOLD: the greatest reach before the whole network is searched.
    pub ttl_threshold: u8,
    /// TIMEOUT_BUFFER: hops by which the wait for a reply is extended.
    pub timeout_buffer: u8,
    /// HELLO_INTERVAL.
    pub hello_interval: Duration,
    /// ALLOWED_HELLO_LOSS: intervals without a hello after which a neighbour is lost.
    pub allowed_hello_loss: u64,
    /// `true` if nodes on active routes broadcast hellos. Not needed where the link layer reports failures.
    pub hellos: bool,
    /// `true` if a neighbour is lost when the link layer gives up a packet to it.
    pub link_layer_feedback: bool,
    /// `true` if packets of the node itself that the link layer gave up, and those queued for the lost
    /// neighbour, wait for a new route; otherwise they are given up, unless the route is under repair.
    pub salvages: bool,
    /// The routes that a node repairs itself before it reports an error.
    pub local_repair: LocalRepair,
    /// Routes to the neighbours that messages come from. RFC 3561 (sections 6.5 and 6.7): each request and
    /// reply makes or confirms one. ns-2 (`recvRequest`, `recvReply`): none is made.
    pub neighbour_routes: AodvRule,
    /// Times and reaches of requests. ns-2 (`sendRequest`, `rt_purge`): the wait is twice the reach times the
    /// mean time per hop of the last three searches, multiplied by the number of searches of the whole
    /// network, at most 10 s; the next request goes out with the next packet or at the next multiple of 0.5
    /// s; after the last one none is sent for 10 s. The reach of the last search is remembered, as is the
    /// length of the last route. The originator does not delay requests.
    pub requests: AodvRule,
    /// Replies. ns-2 (`recvRequest`, `recvReply`): the destination advances its number with each reply; an
    /// intermediate node also answers the neighbour that its route leads over, with the lifetime in whole
    /// seconds; a reply that does not improve the route of a node ends there.
    pub replies: AodvRule,
    /// Route errors. ns-2 (`handle_link_failure`, `recvError`, `rt_resolve`): all are broadcast; the node at
    /// the broken link sends one without delay for all routes over it, also if there are no precursors, and
    /// keeps the precursors; a node that receives one forwards it if it has precursors, drops what is queued
    /// for its sender, and ignores numbers older than its own; replies make precursors of the originator's
    /// side only; failures of routing messages are ignored.
    pub errors: AodvRule,
    /// Lifetimes of routes. ns-2 (`recvRequest`, `forward`, `rt_purge`): a reverse route lives for 6 s; a
    /// packet extends the lifetime of the route that it takes and of no other; lifetimes are checked at
    /// multiples of 0.5 s.
    pub lifetimes: AodvRule,
    /// Sizes of messages. ns-2 (`aodv_packet.h`): 20 bytes of IP header, no UDP header, requests of 28 bytes.
    pub sizes: AodvRule,
    /// LOCAL_ADD_TTL: hops added to the reach of a local repair.
    pub local_add_ttl: u8,
    /// `true` if only the destination may answer requests (the D flag).
    pub destination_only: bool,
    /// `true` if an intermediate node that answers a request informs the destination (the G flag).
    pub gratuitous_reply: bool,
    /// `true` if links may lead in one direction only: replies request an acknowledgement, and requests of a
    /// neighbour that did not send one are ignored for BLACKLIST_TIMEOUT (section 6.8).
    pub unidirectional_links: bool,
    /// Broadcasts are sent after a uniform time up to this, so that neighbours do not collide.
    pub broadcast_jitter: Duration,
    /// Bounds of the packets that wait for a route.
    pub buffer: BufferConfig,
}

impl AodvConfig {
    /// The parameters and rules of ns-2.35 (`aodv.h`, `aodv.cc`): routes live for 10 s, the first ring has 5
    /// hops, the rates of requests and errors are not limited, and sequence numbers are kept for good.
    ///
    /// Two rules of ns-2 are left out: waiting packets leave 10 ms apart (`ARP_DELAY`), and packets that
    /// return to their source are dropped.
    pub const NS2: Self = Self {
        active_route_timeout: Duration::from_secs(10),
        my_route_timeout: Duration::from_secs(10),
        delete_period: Duration::from_secs(1_000_000),
        node_traversal_time: Duration::from_millis(30),
        net_diameter: 30,
        request_retries: 3,
        request_rate_limit: usize::MAX,
        error_rate_limit: usize::MAX,
        ttl_start: 5,
        ttl_increment: 2,
        ttl_threshold: 7,
        timeout_buffer: 2,
        hello_interval: Duration::from_secs(1),
        allowed_hello_loss: 3,
        hellos: false,
        link_layer_feedback: true,
        salvages: false,
        local_repair: LocalRepair::Ns2,
        neighbour_routes: AodvRule::Ns2,
        requests: AodvRule::Ns2,
        replies: AodvRule::Ns2,
        errors: AodvRule::Ns2,
        lifetimes: AodvRule::Ns2,
        sizes: AodvRule::Ns2,
        local_add_ttl: 2,
        destination_only: false,
        gratuitous_reply: false,
        unidirectional_links: false,
        broadcast_jitter: Duration::from_millis(10),
        buffer: BufferConfig { per_destination: 64, total: 64, lifetime: Duration::from_secs(30) },
    };
}

impl Default for AodvConfig {
    /// The values of RFC 3561 section 10, with the link layer's reports in place of hellos; up to 64 packets
    /// wait for 30 s.
    fn default() -> Self {
        let active_route_timeout = Duration::from_secs(3);
        Self {
            active_route_timeout,
            my_route_timeout: active_route_timeout * 2,
            delete_period: active_route_timeout * 5,
            node_traversal_time: Duration::from_millis(40),
            net_diameter: 35,
            request_retries: 2,
            request_rate_limit: 10,
            error_rate_limit: 10,
            ttl_start: 1,
            allowed_hello_loss: 2,
            salvages: true,
            local_repair: LocalRepair::Never,
            neighbour_routes: AodvRule::Rfc3561,
            requests: AodvRule::Rfc3561,
            replies: AodvRule::Rfc3561,
            errors: AodvRule::Rfc3561,
            lifetimes: AodvRule::Rfc3561,
            sizes: AodvRule::Rfc3561,
            ..Self::NS2
        }
    }
}

impl AodvConfig {
    /// NET_TRAVERSAL_TIME: estimate of the time through the network and back.
    pub fn net_traversal_time(&self) -> Duration {
        self.node_traversal_time * 2 * u64::from(self.net_diameter)
    }

    /// PATH_DISCOVERY_TIME: time for which a request's identifier is kept; BCAST_ID_SAVE of ns-2.
    pub fn path_discovery_time(&self) -> Duration {
        match self.requests {
            AodvRule::Rfc3561 => self.net_traversal_time() * 2,
            AodvRule::Ns2 => Duration::from_secs(6),
        }
    }

    /// NEXT_HOP_WAIT: wait for the acknowledgement of a reply.
    pub fn next_hop_wait(&self) -> Duration {
        self.node_traversal_time + Duration::from_millis(10)
    }

    /// BLACKLIST_TIMEOUT: time for which the requests of a neighbour that no reply reached are ignored.
    pub fn blacklist_timeout(&self) -> Duration {
        self.net_traversal_time() * u64::from(self.request_retries)
    }

    /// RING_TRAVERSAL_TIME: wait for the reply to a request with this reach.
    pub fn ring_traversal_time(&self, ttl: u8) -> Duration {
        self.node_traversal_time * 2 * (u64::from(ttl) + u64::from(self.timeout_buffer))
    }

    /// MAX_REPAIR_TTL: the farthest destination, in hops, that a node repairs a route to.
    pub fn max_repair_ttl(&self) -> u8 {
        (u16::from(self.net_diameter) * 3 / 10) as u8
    }

    /// The time for which a neighbour may be silent.
    pub fn neighbour_timeout(&self) -> Duration {
        self.hello_interval * self.allowed_hello_loss
    }
}
