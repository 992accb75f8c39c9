# Functions for jobs of multipath.py: two paths between the kernel with MP-DCCP and Whimbrel's stack.
#
# The kernel has the addresses 10.44.1.1 and 10.44.2.1. In the namespace b, behind the TUN device tun0, Whimbrel has
# 10.45.1.2 and 10.45.2.2. Path 1 is that of the source addresses 10.44.1.1 and 10.45.1.2, path 2 that of the others,
# whatever the destination.

# paths "NETEM of path 1" "NETEM of path 2"
paths() {
	ip netns add b
	ip netns exec b sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
	for n in 1 2; do
		ip link add va$n type veth peer name vb$n
		ip link set vb$n netns b
		ip addr add 10.44.$n.1/24 dev va$n
		ip link set va$n up
		ip route add 10.45.$n.0/24 via 10.44.$n.2
		ip rule add from 10.44.$n.1 table $n
		ip -n b addr add 10.44.$n.2/24 dev vb$n
		ip -n b link set vb$n up
		ip -n b rule add from 10.45.$n.2 table $n
		ip -n b route add default via 10.44.$n.1 dev vb$n table $n
		ip route add default via 10.44.$n.2 dev va$n table $n
	done
	ip -n b tuntap add dev tun0 mode tun
	ip -n b link set tun0 up
	ip -n b route add 10.45.1.2/32 dev tun0
	ip -n b route add 10.45.2.2/32 dev tun0
	for n in 1 2; do
		tries=0
		until ip netns exec b ping -c 1 -W 1 10.44.$n.1 > /dev/null 2>&1 || [ $((tries += 1)) -gt 20 ]; do
			sleep 0.1
		done
		[ -z "$1" ] || tc qdisc add dev va$n root netem $1
		[ -z "$1" ] || tc -n b qdisc add dev vb$n root netem $1
		shift
	done
}

# run_ends NAME kernel|whimbrel "KERNEL'S COMMAND" "WHIMBREL'S COMMAND": the named end is the server. /job/meanwhile runs
# beside them, from the time at which the client starts.
run_ends() {
	ip netns exec b tcpdump -i tun0 -s 2048 -B 4096 -U -Z root -w /out/$1.pcap proto 33 2> /run/capture &
	capture=$!
	until_said /run/capture listening
	if [ $2 = kernel ]; then
		$3 > /out/$1.kernel 2> /run/said &
		first=$!
		until_said /run/said listening
		ip netns exec b $4 > /out/$1.whimbrel 2> /out/$1.errors &
	else
		ip netns exec b $4 > /out/$1.whimbrel 2> /run/said &
		first=$!
		until_said /run/said listening
		$3 > /out/$1.kernel 2> /out/$1.errors &
	fi
	second=$!
	. /job/meanwhile
	wait $first $second
	cat /run/said >> /out/$1.errors
	# The kernel passes captured packets to tcpdump once per second.
	sleep 1.2
	kill -INT $capture
	wait $capture
}
