# ns-2: XCP flows over one link, 10 or 20 Mbit/s, with a round-trip time of 40 ms.
# Usage: ns xcp.tcl FLOWS RATE_MBIT SPACING DURATION WARM_UP
#   SPACING  seconds between the starts of two flows; 0: all start within 0.1 s
# Prints one JSON object: the link's utilisation, drops and mean queue in packets after WARM_UP, and each flow's
# acknowledged packets of 1000 bytes in each second.
foreach {flows rate spacing duration warm_up} $argv break
set ns [new Simulator]
$defaultRNG seed 1

Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 10000
Agent/TCP/Reno/XCP set packetSize_ 1000

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb 16ms XCP
$ns queue-limit $left $right 100
$ns queue-limit $right $left 100
foreach {from to} [list $left $right $right $left] {
    set link [$ns link $from $to]
    set queue [$link queue]
    $queue set-link-capacity [[$link set link_] set bandwidth_]
}
set monitor [$ns monitor-queue $left $right ""]
set bytes [$monitor get-bytes-integrator]
set packets [$monitor get-pkts-integrator]

for {set i 0} {$i < $flows} {incr i} {
    set source($i) [$ns node]
    set sink($i) [$ns node]
    foreach {from to} [list $source($i) $left $right $sink($i)] {
        $ns duplex-link $from $to 100Mb 2ms XCP
        $ns queue-limit $from $to 1000
        $ns queue-limit $to $from 1000
        foreach {a b} [list $from $to $to $from] {
            set link [$ns link $a $b]
            [$link queue] set-link-capacity [[$link set link_] set bandwidth_]
        }
    }
    set tcp($i) [new Agent/TCP/Reno/XCP]
    set receiver [new Agent/TCPSink/XCPSink]
    $ns attach-agent $source($i) $tcp($i)
    $ns attach-agent $sink($i) $receiver
    $ns connect $tcp($i) $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    set start [expr {$spacing > 0 ? $spacing * $i : 0.1 * $i / $flows}]
    $ns at $start "$ftp start"
    set before($i) 0
    set rates($i) {}
}

proc sample {} {
    global ns tcp flows before rates
    for {set i 0} {$i < $flows} {incr i} {
        set acked [$tcp($i) set ack_]
        lappend rates($i) [expr {$acked - $before($i)}]
        set before($i) $acked
    }
    $ns at [expr {[$ns now] + 1}] sample
}

proc begin {} {
    global monitor packets departed dropped area
    set departed [$monitor set bdepartures_]
    set dropped [$monitor set pdrops_]
    set area [$packets set sum_]
}

proc finish {} {
    global monitor packets departed dropped area rates flows rate duration warm_up
    set time [expr {double($duration - $warm_up)}]
    set used [expr {([$monitor set bdepartures_] - $departed) * 8 / ($rate * 1e6 * $time)}]
    set queue [expr {([$packets set sum_] - $area) / $time}]
    set each {}
    for {set i 0} {$i < $flows} {incr i} { lappend each "\[[join $rates($i) ,]\]" }
    puts "{\"utilisation\": $used, \"queue\": $queue, \"drops\": [expr {[$monitor set pdrops_] - $dropped}], \"packets\": \[[join $each ,]\]}"
    exit 0
}

$ns at 1.0 sample
$ns at $warm_up begin
$ns at [expr {$duration + 0.0001}] finish
$ns run
