//! The table of transports as types: one enum of ends and one of contents, so that calls are static.

/// Makes [`FlowAgent`], [`SimPayload`] and the default [`Transports`] of lines `TRANSPORT: CONTENT; ENDS;`.
macro_rules! transports {
    ($($transport:path: $variant:ident($content:ty); $($end:ident($agent:ty)),+;)+) => {
        /// One end of a flow.
        #[derive(Debug)]
        #[allow(
            clippy::large_enum_variant,
            reason = "agents are few, and a pointer would cost a cache miss per packet"
        )]
        #[allow(missing_docs, reason = "the names of the transports")]
        pub enum FlowAgent {
            $($($end($agent),)+)+
            /// An end of a transport that is not in the table.
            Other(Box<dyn FlowEnd>),
            /// The routing agent of a node.
            Router(Box<crate::routing::Router>),
        }

        $($(
            impl From<$agent> for FlowAgent {
                fn from(agent: $agent) -> Self {
                    Self::$end(agent)
                }
            }
        )+)+

        impl FlowAgent {
            /// The meter of this end.
            pub fn meter(&self) -> &crate::metrics::Meter {
                match self {
                    $($(Self::$end(end) => end.meter(),)+)+
                    Self::Other(end) => end.meter(),
                    Self::Router(router) => router.meter(),
                }
            }

            #[inline]
            fn receive(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
                match self {
                    $($(Self::$end(end) => end.handle_packet(now, size, ecn, envelope),)+)+
                    Self::Other(end) => end.handle_packet(now, size, ecn, envelope),
                    Self::Router(router) => router.handle_packet(now, size, ecn, envelope),
                }
            }

            /// The end as such.
            pub fn end(&self) -> &dyn FlowEnd {
                match self {
                    $($(Self::$end(end) => end,)+)+
                    Self::Other(end) => &**end,
                    Self::Router(router) => &**router,
                }
            }

            /// The end as such, to be changed.
            pub fn end_mut(&mut self) -> &mut dyn FlowEnd {
                match self {
                    $($(Self::$end(end) => end,)+)+
                    Self::Other(end) => &mut **end,
                    Self::Router(router) => &mut **router,
                }
            }
        }

        impl Agent for FlowAgent {
            type Payload = Envelope;

            fn handle_packet(&mut self, now: Instant, packet: Packet<Envelope>) {
                let Packet { size, ecn, mut payload, .. } = packet;
                self.receive(now, size, ecn, &mut payload);
            }

            #[inline]
            fn handle_stored(&mut self, now: Instant, packet: StoredPacket<'_, Envelope>) {
                if let Some(payload) = packet.payload {
                    self.receive(now, packet.size, packet.ecn, payload);
                }
            }

            fn handle_timeout(&mut self, now: Instant) {
                match self {
                    $($(Self::$end(end) => end.handle_timeout(now),)+)+
                    Self::Other(end) => end.handle_timeout(now),
                    Self::Router(router) => router.handle_timeout(now),
                }
            }

            fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
                match self {
                    $($(Self::$end(end) => end.poll_transmit(now),)+)+
                    Self::Other(end) => end.poll_transmit(now),
                    Self::Router(router) => router.poll_transmit(now),
                }
            }

            fn poll_timeout(&self) -> Option<Instant> {
                match self {
                    $($(Self::$end(end) => end.poll_timeout(),)+)+
                    Self::Other(end) => end.poll_timeout(),
                    Self::Router(router) => router.poll_timeout(),
                }
            }

            fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
                match self {
                    $($(Self::$end(end) => end.handle_loss(now, packet, cause),)+)+
                    Self::Other(end) => end.handle_loss(now, packet, cause),
                    Self::Router(router) => router.handle_loss(now, packet, cause),
                }
            }

            fn handle_observation(&mut self, now: Instant, station: StationId, observation: &Observation) {
                match self {
                    Self::Router(router) => router.handle_observation(now, observation),
                    end => end.end_mut().handle_observation(now, station, observation),
                }
            }

            fn handle_unrouted(&mut self, now: Instant, packet: UnroutedPacket) {
                if let Self::Router(router) = self {
                    router.handle_unrouted(now, packet);
                }
            }

            fn handle_undelivered(&mut self, now: Instant, packet: UnroutedPacket, neighbour: NodeId) -> bool {
                match self {
                    Self::Router(router) => router.handle_undelivered(now, packet, neighbour),
                    _ => false,
                }
            }

            fn handle_passing(&mut self, now: Instant, packet: PassingPacket) {
                if let Self::Router(router) = self {
                    router.handle_passing(now, packet);
                }
            }

            #[inline]
            fn poll_routing(&mut self, _: Instant) -> Option<RoutingRequest> {
                match self {
                    Self::Router(router) => router.poll_routing(),
                    _ => None,
                }
            }

            fn path(envelope: &Envelope) -> Option<usize> {
                envelope.content.as_content().path()
            }

            #[inline]
            fn shim(envelope: &mut Envelope) -> Option<&mut Shim> {
                match &mut envelope.content {
                    $(SimPayload::$variant(content) => content.shim(),)+
                    SimPayload::Other(content) => content.shim(),
                }
            }

            fn handle_damaged(&mut self, now: Instant, packet: Packet<Envelope>, link: LinkId) {
                match self {
                    $($(Self::$end(end) => end.handle_damaged(now, packet, link),)+)+
                    Self::Other(end) => end.handle_damaged(now, packet, link),
                    Self::Router(router) => router.handle_damaged(now, packet, link),
                }
            }
        }

        /// The content of a packet, by transport. Packets remain typed values on the whole path: they are
        /// encoded for capture files only.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the transports")]
        pub enum SimPayload {
            $($variant($content),)+
            /// The content of a packet of a transport that is not in the table.
            Other(Box<dyn Content>),
        }

        $(
            impl From<$content> for SimPayload {
                fn from(content: $content) -> Self {
                    Self::$variant(content)
                }
            }
        )+

        impl SimPayload {
            /// The content as such.
            pub fn as_content(&self) -> &dyn Content {
                match self {
                    $(Self::$variant(content) => content,)+
                    Self::Other(content) => &**content,
                }
            }

            /// Application data in bytes.
            pub fn data_length(&self) -> u32 {
                match self {
                    $(Self::$variant(content) => content.data_length(),)+
                    Self::Other(content) => content.data_length(),
                }
            }

            /// The packet's number and its datagram's.
            pub(crate) fn numbers(&self) -> (u64, u64) {
                match self {
                    $(Self::$variant(content) => content.numbers(),)+
                    Self::Other(content) => content.numbers(),
                }
            }
        }

        /// The transports of the table.
        fn table() -> Transports {
            Transports(Vec::new())$(.with($transport))+
        }
    };
}
