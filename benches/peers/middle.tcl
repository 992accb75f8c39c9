# Three flows side by side in ns-2.35, of which the middle one starves: senders 400 m apart, each with a receiver at 200 m.
#   ns middle.tcl MBPS RTS_THRESHOLD BYTES SECONDS SEED INTERVAL
# prints the packets per second that each receiver gets. crates/lab/tests/cases.rs has the figures.
lassign $argv mbps threshold bytes seconds seed interval
ns-random $seed
Mac/802_11 set dataRate_ ${mbps}Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ $threshold
set ns_ [new Simulator]
$ns_ trace-all [open /dev/null w]
set topo [new Topography]
$topo load_flatgrid 1500 500
create-god 6
$ns_ node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set i 0} {$i < 6} {incr i} {
    set node($i) [$ns_ node]
    $node($i) random-motion 0
    $node($i) set X_ [expr 100.0 + 400.0 * ($i % 3)]
    $node($i) set Y_ [expr $i < 3 ? 100.0 : 300.0]
    $node($i) set Z_ 0.0
}
for {set i 0} {$i < 3} {incr i} {
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ 3000
    $ns_ attach-agent $node($i) $udp($i)
    set sink($i) [new Agent/LossMonitor]
    $ns_ attach-agent $node([expr $i + 3]) $sink($i)
    $ns_ connect $udp($i) $sink($i)
    set cbr($i) [new Application/Traffic/CBR]
    $cbr($i) set packetSize_ $bytes
    $cbr($i) set interval_ $interval
    $cbr($i) set random_ 1
    $cbr($i) attach-agent $udp($i)
    $ns_ at [expr 0.1 + 0.15 * $i] "$cbr($i) start"
    $ns_ at [expr 0.105 + 0.15 * $i] "$cbr($i) stop"
    $ns_ at [expr 9.0 + 0.001 * $i] "$cbr($i) start"
}
proc snap {} { global sink; set r {}; for {set i 0} {$i < 3} {incr i} { lappend r [$sink($i) set npkts_] }; return $r }
$ns_ at 10.0 {set before [snap]}
$ns_ at [expr 10.0 + $seconds] {
    set after [snap]; set out {}
    foreach b $before a $after { lappend out [expr ($a - $b) / double($seconds)] }
    puts $out
    exit 0
}
$ns_ run
