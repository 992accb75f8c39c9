# Saturated senders around one receiver in ns-2.35, for ns2-saturation.csv:
#   ns ns2-saturation.tcl SENDERS MBPS RTS_THRESHOLD BYTES SECONDS SEED INTERVAL cell|hidden|capture|ring
# prints the frames per second that the receiver gets from the first half of the senders, and from the others. `cell`:
# senders on a circle of 5 m around the receiver. `hidden`: two senders 200 m to both sides of it, with carrier sense as
# far as reception (250 m). `capture`: the first half on a circle of 5 m, the others on one of 50 m, 20 dB weaker.
# `ring`: each sender on a circle of 5 m sends to the next one; there is no other receiver.
# Each sender resolves the receiver's address alone before all of them are saturated.
lassign $argv senders mbps threshold bytes seconds seed interval layout
ns-random $seed
Mac/802_11 set dataRate_ ${mbps}Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ $threshold
if {$layout == "hidden"} { Phy/WirelessPhy set CSThresh_ 3.652e-10 }
set ns_ [new Simulator]
$ns_ trace-all [open /dev/null w]
set topo [new Topography]
$topo load_flatgrid 500 500
set is_ring [expr {$layout == "ring"}]
set nodes [expr {$is_ring ? $senders : $senders + 1}]
create-god $nodes
$ns_ node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set i 0} {$i < $nodes} {incr i} {
    set node($i) [$ns_ node]
    $node($i) random-motion 0
    set angle [expr 6.2831853 * $i / $nodes]
    set radius [expr {$layout == "capture" && 2 * $i > $senders ? 50 : 5}]
    set is_center [expr {$i == 0 && !$is_ring}]
    set x [expr $is_center ? 100.0 : 100 + $radius * cos($angle)]
    set y [expr $is_center ? 100.0 : 100 + $radius * sin($angle)]
    if {$layout == "hidden"} { set x [lindex {250.0 50.0 450.0} $i]; set y 100.0 }
    $node($i) set X_ $x
    $node($i) set Y_ $y
    $node($i) set Z_ 0.0
}
for {set i 1} {$i <= $senders} {incr i} {
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ 3000
    $ns_ attach-agent $node([expr $i % $nodes]) $udp($i)
    set sink($i) [new Agent/LossMonitor]
    $ns_ attach-agent $node([expr {$is_ring ? ($i + 1) % $nodes : 0}]) $sink($i)
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
proc total {first last} {
    global sink
    set sum 0
    for {set i $first} {$i <= $last} {incr i} { incr sum [$sink($i) set npkts_] }
    return $sum
}
set half [expr $senders / 2]
$ns_ at 10.0 {set near [total 1 $half]; set far [total [expr $half + 1] $senders]}
$ns_ at [expr 10.0 + $seconds] {
    set near [expr ([total 1 $half] - $near) / double($seconds)]
    set far [expr ([total [expr $half + 1] $senders] - $far) / double($seconds)]
    puts "$near $far"
    exit 0
}
$ns_ run
