# Functions for interop/tcp.py's jobs: a bulk transfer of the kernel's TCP over two routers.
#
#	s.ID --- m.ID --- n.ID --- r.ID
#
# m has the bottleneck, a token bucket with a queue; n delays, and loses at random; r delays the acknowledgements. All devices split
# coalesced buffers into packets.

# joined ID NAMESPACE NAMESPACE: joins two namespaces by a pair of devices, each named after both ends.
joined() {
	ip link add $2$3 netns $2.$1 type veth peer name $3$2 netns $3.$1
	ip -n $2.$1 link set $2$3 gso_max_segs 1 up
	ip -n $3.$1 link set $3$2 gso_max_segs 1 up
}

# bulk_path ID "TBF at m" "NETEM at n" "NETEM at r"
bulk_path() {
	for ns in s m n r; do
		ip netns add $ns.$1
		ip -n $ns.$1 link set lo up
	done
	joined $1 s m
	joined $1 m n
	joined $1 n r
	ip -n s.$1 -batch - <<-N
		addr add 10.60.1.1/24 dev sm
		route add default via 10.60.1.2
	N
	ip -n m.$1 -batch - <<-N
		addr add 10.60.1.2/24 dev ms
		addr add 10.60.2.1/24 dev mn
		route add 10.60.3.0/24 via 10.60.2.2
	N
	ip -n n.$1 -batch - <<-N
		addr add 10.60.2.2/24 dev nm
		addr add 10.60.3.1/24 dev nr
		route add 10.60.1.0/24 via 10.60.2.1
	N
	ip -n r.$1 -batch - <<-N
		addr add 10.60.3.2/24 dev rn
		route add default via 10.60.3.1
	N
	tries=0
	until ip netns exec s.$1 ping -c 1 -W 1 10.60.3.2 > /dev/null 2>&1 || [ $((tries += 1)) -gt 20 ]; do
		sleep 0.1
	done
	tc -n m.$1 qdisc add dev mn root tbf $2
	tc -n n.$1 qdisc add dev nr root netem $3
	tc -n r.$1 qdisc add dev rn root netem $4
}

# counters ID: the time, and what has arrived at the receiver.
counters() {
	cut -d' ' -f1 /proc/uptime
	ip -n r.$1 -s link show rn
	ip netns exec s.$1 cat /proc/net/snmp
	tc -n m.$1 -s qdisc show dev mn
}

# bulk ID CONGESTION WARM_UP SECONDS: leaves the counters in /out/ID.before and /out/ID.after
bulk() {
	ip netns exec s.$1 sh -c "echo $2 > /proc/sys/net/ipv4/tcp_congestion_control"
	ip netns exec s.$1 sh -c "echo '4096 4194304 16777216' > /proc/sys/net/ipv4/tcp_wmem"
	ip netns exec r.$1 sh -c "echo '4096 4194304 16777216' > /proc/sys/net/ipv4/tcp_rmem"
	ip netns exec s.$1 cat /proc/sys/net/ipv4/tcp_congestion_control > /out/$1.law
	# Its input must not end: nc would close the connection.
	(sleep 100000 | ip netns exec r.$1 nc -l -p 5001 > /dev/null) &
	receiver=$!
	sleep 0.5
	(dd if=/dev/zero bs=65536 2> /dev/null | ip netns exec s.$1 nc 10.60.3.2 5001) &
	sender=$!
	sleep $3
	counters $1 > /out/$1.before
	sleep $4
	counters $1 > /out/$1.after
	kill $sender $receiver 2> /dev/null
	for ns in s m n r; do
		ip netns pids $ns.$1 | while read pid; do kill -9 $pid 2> /dev/null; done
		ip netns del $ns.$1
	done
}
