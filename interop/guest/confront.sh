# Functions for interop/stacks/confront.py's jobs: two flows over one bottleneck.
#
#	s0.ID --+                            +-- r0.ID
#	        m.ID --- n.ID --- k.ID ---
#	s1.ID --+                            +-- r1.ID
#
# m has the bottleneck, n and k delay, and lose all packets in gaps. Each flow has devices of its own at its ends, whose counters
# measure it. All devices split coalesced buffers into packets.

# confront_path ID "TBF at m" "ITS QUEUE IN PACKETS" "NETEM at n and k"
confront_path() {
	for ns in s0 s1 m n k r0 r1; do
		ip netns add $ns.$1
		ip -n $ns.$1 link set lo up
	done
	for pair in "s0 m" "s1 m" "m n" "n k" "k r0" "k r1"; do
		joined $1 $pair
	done
	# Whimbrel's ends are behind a TUN device: 10.71 at the senders, 10.72 at the receivers.
	for i in 0 1; do
		for end in "s$i m 61 71" "r$i k 62 72"; do
			set -- $1 "$2" "$3" "$4" $end
			ip -n $5.$1 -batch - <<-N
				addr add 10.$7.$i.2/24 dev $5$6
				route add default via 10.$7.$i.1
				tuntap add dev tun0 mode tun
				link set tun0 up
				route add 10.$8.$i.2/32 dev tun0
			N
			ip -n $6.$1 -batch - <<-N
				addr add 10.$7.$i.1/24 dev $6$5
				route add 10.$8.$i.0/24 via 10.$7.$i.2
			N
		done
	done
	ip -n m.$1 addr add 10.60.1.1/24 dev mn
	ip -n n.$1 addr add 10.60.1.2/24 dev nm
	ip -n n.$1 addr add 10.60.2.1/24 dev nk
	ip -n k.$1 addr add 10.60.2.2/24 dev kn
	for net in 61 71; do
		ip -n n.$1 route add 10.$net.0.0/16 via 10.60.1.1
		ip -n k.$1 route add 10.$net.0.0/16 via 10.60.2.1
	done
	for net in 62 72; do
		ip -n m.$1 route add 10.$net.0.0/16 via 10.60.1.2
		ip -n n.$1 route add 10.$net.0.0/16 via 10.60.2.2
	done
	for i in 0 1; do
		tries=0
		until ip netns exec s$i.$1 ping -c 1 -W 1 10.62.$i.2 > /dev/null 2>&1 || [ $((tries += 1)) -gt 20 ]; do
			sleep 0.1
		done
	done
	# Rates are of IP packets, as in the simulator: without the Ethernet header of 14 bytes.
	tc -n m.$1 qdisc add dev mn root handle 1: stab overhead -14 linklayer ethernet tbf $2
	tc -n m.$1 qdisc add dev mn parent 1:1 handle 2: pfifo limit $3
	tc -n n.$1 qdisc add dev nk root netem $4
	tc -n k.$1 qdisc add dev kn root netem $4
	netem=$4
}

# confront_counters ID: packets and bytes of each flow at both ends, and what was dropped on the path.
confront_counters() {
	for i in 0 1; do
		ip -n s$i.$1 -s -j link show s${i}m
		ip -n r$i.$1 -s -j link show r${i}k
	done
	tc -n m.$1 -s -j qdisc show dev mn
	tc -n n.$1 -s -j qdisc show dev nk
}

# interrupted NAMESPACE DEVICE GAP BEFORE BETWEEN: loses all packets for GAP seconds, twice.
interrupted() {
	{
		for time in $4 $5; do
			sleep $time
			echo "qdisc change dev $2 root netem $netem loss 100%"
			sleep $3
			echo "qdisc change dev $2 root netem $netem loss 0%"
		done
	} | tc -n $1 -batch -
}

# confront ID OFFSET GAP BEFORE BETWEEN "SINK 0" "SOURCE 0" "SINK 1" "SOURCE 1": leaves its reports in /out/ID.*
confront() {
	ip netns exec r0.$1 $6 > /out/$1.sink0 2> /out/$1.sink0.errors &
	ip netns exec r1.$1 $8 > /out/$1.sink1 2> /out/$1.sink1.errors &
	until_said /out/$1.sink0.errors listening
	until_said /out/$1.sink1.errors listening
	confront_counters $1 > /out/$1.before
	interrupted n.$1 nk $3 $4 $5 &
	interrupted k.$1 kn $3 $4 $5 &
	ip netns exec s0.$1 $7 > /out/$1.source0 2> /out/$1.source0.errors &
	source0=$!
	sleep $2
	ip netns exec s1.$1 $9 > /out/$1.source1 2> /out/$1.source1.errors
	wait $source0
	sleep 1
	confront_counters $1 > /out/$1.after
	for ns in s0 s1 m n k r0 r1; do
		ip netns pids $ns.$1 | while read pid; do kill -9 $pid 2> /dev/null; done
		ip netns del $ns.$1
	done
}
