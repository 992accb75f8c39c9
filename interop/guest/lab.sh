# Functions for jobs: a path between two network namespaces, and a connection over it.
#
# A path joins the namespaces a.ID and b.ID by a pair of veth devices with netem at both. At a is the kernel's
# DCCP; at b either the kernel's, or behind the TUN device tun0 Whimbrel's.

# reaches ID ADDRESS: succeeds if a packet gets from b to that address at a and back; afterwards both have neighbour entries.
reaches() {
	ip netns exec b.$1 ping -c 1 -W 1 $2 > /dev/null 2>&1
}

# path ID "NETEM at a" "NETEM at b"
path() {
	ip -batch - <<-N
		netns add a.$1
		netns add b.$1
		link add va netns a.$1 type veth peer name vb netns b.$1
	N
	ip -n a.$1 -batch - <<-N
		link set va up
		addr add 10.44.0.1/24 dev va
		addr add fd44::1/64 dev va nodad
		route add 10.45.0.0/24 via 10.44.0.2
		route add fd45::/64 via fd44::2
	N
	ip -n b.$1 -batch - <<-N
		link set vb up
		addr add 10.44.0.2/24 dev vb
		addr add fd44::2/64 dev vb nodad
		tuntap add dev tun0 mode tun
		link set tun0 up
		route add 10.45.0.2/32 dev tun0
		route add fd45::2/128 dev tun0
	N
	# Links come up asynchronously; until then packets are lost.
	tries=0
	until reaches $1 fd44::1 && reaches $1 10.44.0.1 || [ $((tries += 1)) -gt 20 ]; do
		sleep 0.1
	done
	[ -z "$2" ] || tc -n a.$1 qdisc add dev va root netem $2
	[ -z "$3" ] || tc -n b.$1 qdisc add dev vb root netem $3
}

# joined ID NAMESPACE NAMESPACE: joins two namespaces by a pair of devices, each named after both ends. They split
# coalesced buffers into packets.
joined() {
	ip link add $2$3 netns $2.$1 type veth peer name $3$2 netns $3.$1
	ip -n $2.$1 link set $2$3 gso_max_segs 1 up
	ip -n $3.$1 link set $3$2 gso_max_segs 1 up
}

# chain ID: the namespaces s, m, n and r one after the other, with addresses and routes; m and n are routers.
chain() {
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
}

# until_said FILE WORD: waits until the file contains the word, for at most ten seconds.
until_said() {
	n=0
	while ! grep -q "$2" "$1" 2>/dev/null; do
		n=$((n + 1)); [ $n -lt 200 ] || return 1
		sleep 0.05
	done
}

# connection ID NAMESPACE "SERVER COMMAND" NAMESPACE "CLIENT COMMAND" CLIENTS
#
# Of several clients, one after the other, the last one counts.
connection() {
	ip netns exec a.$1 tcpdump -i va -s 2048 -B 4096 -Z root -w /out/$1.pcap \
		'proto 33 or icmp or icmp6' 2> /run/$1.capture &
	capture=$!
	until_said /run/$1.capture listening
	ip netns exec $2 $3 > /out/$1.server 2> /run/$1.said &
	server=$!
	[ -z "$3" ] || until_said /run/$1.said listening
	clients=$6
	while [ $clients -gt 0 ]; do
		clients=$((clients - 1))
		ip netns exec $4 $5 > /out/$1.client 2> /out/$1.errors
	done
	wait $server
	cat /run/$1.said >> /out/$1.errors
	# The kernel passes captured packets to tcpdump once per second.
	sleep 1.2
	kill -INT $capture
	wait $capture
	grep -h 'dropped by kernel' /run/$1.capture > /out/$1.dropped
	tc -n a.$1 -s qdisc show dev va > /out/$1.queues
	tc -n b.$1 -s qdisc show dev vb >> /out/$1.queues
	ip -batch - <<-N
		netns del a.$1
		netns del b.$1
	N
}
