# Functions for interop/reorder/reorder.py's jobs: a path over two routers between a sender and a receiver.
#
#	s.ID --- m.ID --- n.ID --- r.ID
#
# m has the bottleneck and the forward delay, n reorders packets, and r has the delay of the reverse path.
# The sender's and the receiver's own devices split coalesced buffers into packets, so that every netem
# counts packets.

# route_path ID "NETEM at m" "NETEM at n" "NETEM at r"
route_path() {
	chain $1
	tc -n m.$1 qdisc add dev mn root netem $2
	[ -z "$3" ] || tc -n n.$1 qdisc add dev nr root netem $3
	tc -n r.$1 qdisc add dev rn root netem $4
}

# stream ID "SEND OPTIONS" "RECEIVE OPTIONS": a recording over the path, into /out/ID.*
stream() {
	ip netns exec r.$1 media_stream receive 10.60.3.2:5004 to=/out/$1 $3 > /out/$1.receiver 2> /out/$1.receiver.errors &
	receiver=$!
	until_said /out/$1.receiver.errors listening
	ip netns exec s.$1 media_stream send 10.60.3.2:5004 $2 > /out/$1.sender 2> /out/$1.sender.errors
	wait $receiver
	tc -n m.$1 -s qdisc show dev mn > /out/$1.queues
	tc -n n.$1 -s qdisc show dev nr >> /out/$1.queues
	for ns in s m n r; do
		ip netns del $ns.$1
	done
}
