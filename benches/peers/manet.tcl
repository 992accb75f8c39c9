# F2: mobile nodes with 802.11b radios, an ad hoc routing protocol and constant-bit-rate flows, in ns-2.35.
#
# Usage: ns manet.tcl MOBILITY [key value]...
#   seed 1   duration 100   nodes 50   flows 20   protocol DSDV|AODV   size 1000 (side of the area in metres)
#   interval 0.064 (seconds between packets of 512 B)   begin 5 (seconds)   rts 0 (RTSThreshold_)
#   measure 0   1: trace, and print the figures below; 0: run without a trace, for timing
#
# Flow i runs from node 2i to node 2i+1 (modulo the nodes) from `begin` + i/4 seconds on. Radio and MAC have ns-2's defaults
# (914 MHz, two-ray ground, 250 m / 550 m) except for the rates: 11 Mbit/s for data, 1 Mbit/s for broadcasts and control.
#
# Printed: one line of names and one of values.
#   sent, received     packets of the flows
#   hops               arrivals of the flows' packets at nodes, per packet received at its destination
#   delay              mean over the received packets, in seconds
#   messages, bytes    routing messages sent, and their bytes at the network layer
array set opt {seed 1 duration 100 nodes 50 flows 20 protocol DSDV size 1000 interval 0.064 begin 5 rts 0 measure 0}
set mobility [lindex $argv 0]
array set opt [lrange $argv 1 end]

remove-all-packet-headers
foreach header {IP LL Mac ARP Message RTP UDP Flags AODV} { add-packet-header $header }
$defaultRNG seed $opt(seed)
Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ $opt(rts)

set ns_ [new Simulator]
if {$opt(measure)} {
    set program [file join [file dirname [info script]] manet.awk]
    set trace [open "|awk -f $program >@stdout" w]
} else {
    set trace [open /dev/null w]
}
$ns_ trace-all $trace
set topology [new Topography]
$topology load_flatgrid $opt(size) $opt(size)
set god_ [create-god $opt(nodes)]
set tracing [expr {$opt(measure) ? "ON" : "OFF"}]
$ns_ node-config -adhocRouting $opt(protocol) -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] \
    -topoInstance $topology -agentTrace $tracing -routerTrace $tracing -macTrace OFF -movementTrace OFF
for {set i 0} {$i < $opt(nodes)} {incr i} {
    set node_($i) [$ns_ node]
    $node_($i) random-motion 0
}
source $mobility
for {set i 0} {$i < $opt(flows)} {incr i} {
    set sender [new Agent/UDP]
    $sender set packetSize_ 512
    set sink [new Agent/Null]
    $ns_ attach-agent $node_([expr {2 * $i % $opt(nodes)}]) $sender
    $ns_ attach-agent $node_([expr {(2 * $i + 1) % $opt(nodes)}]) $sink
    $ns_ connect $sender $sink
    set source [new Application/Traffic/CBR]
    $source set packetSize_ 512
    $source set interval_ $opt(interval)
    $source attach-agent $sender
    $ns_ at [expr {$opt(begin) + 0.25 * $i}] "$source start"
}
$ns_ at $opt(duration) { $ns_ flush-trace; catch { close $trace }; exit 0 }
$ns_ run
