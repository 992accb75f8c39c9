# A TCP connection over a chain of 802.11b nodes 200 m apart, in ns-2.35.
#
# Usage: ns chain.tcl [key value]...
#   hops 2   seed 1   begin 150 (seconds: DSDV has converged)   duration 60   rts 3000 (RTSThreshold_)
#
# NewReno with segments of 1460 B and a window of 32, over DSDV; rates of 11 Mbit/s for data and 1 Mbit/s for control, otherwise
# ns-2's defaults. Printed: segments acknowledged per second.
array set opt {hops 2 seed 1 begin 150 duration 60 rts 3000}
array set opt $argv
remove-all-packet-headers
foreach header {IP TCP LL Mac ARP Message Flags} { add-packet-header $header }
$defaultRNG seed $opt(seed)
Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ $opt(rts)
set ns_ [new Simulator]
$ns_ trace-all [open /dev/null w]
set topology [new Topography]
$topology load_flatgrid 2000 200
create-god [expr {$opt(hops) + 1}]
$ns_ node-config -adhocRouting DSDV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topology \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set i 0} {$i <= $opt(hops)} {incr i} {
    set node_($i) [$ns_ node]
    $node_($i) random-motion 0
    $node_($i) set X_ [expr {10 + 200 * $i}]
    $node_($i) set Y_ 100
    $node_($i) set Z_ 0
}
set tcp [new Agent/TCP/Newreno]
$tcp set packetSize_ 1460
$tcp set window_ 32
set sink [new Agent/TCPSink]
$ns_ attach-agent $node_(0) $tcp
$ns_ attach-agent $node_($opt(hops)) $sink
$ns_ connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns_ at $opt(begin) "$ftp start"
set end [expr {$opt(begin) + $opt(duration)}]
$ns_ at $end { puts "segments_per_s"; puts [expr {[$tcp set ack_] / double($opt(duration))}]; exit 0 }
$ns_ run
