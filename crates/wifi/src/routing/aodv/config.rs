//! Parameters of AODV.

use whimbrel_units::Duration;

use crate::routing::BufferConfig;

/// Parameters of an [`Aodv`](super::Aodv) agent, with the names of RFC 3561 section 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AodvConfig {
    /// ACTIVE_ROUTE_TIMEOUT: lifetime of a route since its last use.
    pub active_route_timeout: Duration,
    /// MY_ROUTE_TIMEOUT: lifetime that a destination gives to routes to it.
    pub my_route_timeout: Duration,
    /// DELETE_PERIOD: time for which the sequence number of an invalid route is kept. It must exceed the time for which any
    /// node upstream may regard the route as valid, else loops are possible.
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
    /// TTL_START: reach of the first request; [`net_diameter`](Self::net_diameter) switches the expanding ring off.
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
    /// `true` if packets of the node itself that the link layer gave up, and those queued for the lost neighbour, wait for
    /// a new route; otherwise they are given up, unless the route is under repair.
    pub salvages: bool,
    /// `true` if a node repairs a broken route to a destination that is not farther than MAX_REPAIR_TTL (0.3 times the
    /// network's diameter) itself, before it reports an error.
    pub local_repair: bool,
    /// LOCAL_ADD_TTL: hops added to the reach of a local repair.
    pub local_add_ttl: u8,
    /// `true` if only the destination may answer requests (the D flag).
    pub destination_only: bool,
    /// `true` if an intermediate node that answers a request informs the destination (the G flag).
    pub gratuitous_reply: bool,
    /// `true` if links may lead in one direction only: replies request an acknowledgement, and requests of a neighbour that
    /// did not send one are ignored for BLACKLIST_TIMEOUT (section 6.8).
    pub unidirectional_links: bool,
    /// Broadcasts are sent after a uniform time up to this, so that neighbours do not collide.
    pub broadcast_jitter: Duration,
    /// Bounds of the packets that wait for a route.
    pub buffer: BufferConfig,
}

impl AodvConfig {
    /// The parameters of ns-2.35 (`aodv.h`): routes live for 10 s, the first ring has 5 hops, and packets that the link layer
    /// gave up are given up.
    ///
    /// ns-2 differs from RFC 3561 in more than parameters: it makes no routes to the neighbours that messages come from, and
    /// repairs a route locally where the destination is closer than the source. [`Aodv`](super::Aodv) has neither rule, so
    /// local repair is off here; with RFC 3561's own rule for it, half as many messages again are sent as in ns-2.
    pub const NS2: Self = Self {
        active_route_timeout: Duration::from_secs(10),
        my_route_timeout: Duration::from_secs(10),
        delete_period: Duration::from_secs(50),
        node_traversal_time: Duration::from_millis(30),
        net_diameter: 30,
        request_retries: 3,
        request_rate_limit: 10,
        error_rate_limit: 10,
        ttl_start: 5,
        ttl_increment: 2,
        ttl_threshold: 7,
        timeout_buffer: 2,
        hello_interval: Duration::from_secs(1),
        allowed_hello_loss: 3,
        hellos: false,
        link_layer_feedback: true,
        salvages: false,
        local_repair: false,
        local_add_ttl: 2,
        destination_only: false,
        gratuitous_reply: false,
        unidirectional_links: false,
        broadcast_jitter: Duration::from_millis(10),
        buffer: BufferConfig { per_destination: 64, total: 64, lifetime: Duration::from_secs(30) },
    };
}

impl Default for AodvConfig {
    /// The values of RFC 3561 section 10, with the link layer's reports in place of hellos; up to 64 packets wait for 30 s.
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
            ttl_increment: 2,
            ttl_threshold: 7,
            timeout_buffer: 2,
            hello_interval: Duration::from_secs(1),
            allowed_hello_loss: 2,
            hellos: false,
            link_layer_feedback: true,
            salvages: true,
            local_repair: false,
            local_add_ttl: 2,
            destination_only: false,
            gratuitous_reply: false,
            unidirectional_links: false,
            broadcast_jitter: Duration::from_millis(10),
            buffer: BufferConfig { per_destination: 64, total: 64, lifetime: Duration::from_secs(30) },
        }
    }
}

impl AodvConfig {
    /// NET_TRAVERSAL_TIME: estimate of the time through the network and back.
    pub fn net_traversal_time(&self) -> Duration {
        self.node_traversal_time * 2 * u64::from(self.net_diameter)
    }

    /// PATH_DISCOVERY_TIME: time for which a request's identifier is kept.
    pub fn path_discovery_time(&self) -> Duration {
        self.net_traversal_time() * 2
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
