# Functions for interop/stacks/tcp.py's jobs: a bulk transfer of the kernel's TCP over two routers.
#
#	s.ID --- m.ID --- n.ID --- r.ID
#
# m has the bottleneck, a token bucket with a queue; n delays, and loses at random; r delays the acknowledgements. All devices split
# coalesced buffers into packets.

# bulk_path ID "TBF at m" "NETEM at n" "NETEM at r"
bulk_path() {
	chain $1
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
