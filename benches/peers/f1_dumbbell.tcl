# ns-2: 10 TCP NewReno and 10 TFRC flows over one wired bottleneck, no tracing, only the headers that are used.
# Usage: ns f1_dumbbell.tcl [seconds]
# The same network as examples/scenarios/dumbbell.toml.
set seconds [expr {[llength $argv] > 0 ? [lindex $argv 0] : 60}]
remove-all-packet-headers
add-packet-header IP TCP Flags TFRC TFRC_ACK
set ns [new Simulator]
$ns use-scheduler Calendar
$defaultRNG seed 1
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 100Mb 10ms DropTail
$ns queue-limit $left $right 250
$ns queue-limit $right $left 250
set start [new RandomVariable/Uniform]
for {set i 0} {$i < 20} {incr i} {
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left 1000Mb 1ms DropTail
    $ns duplex-link $right $to 1000Mb 1ms DropTail
    if {$i < 10} {
        set sender($i) [new Agent/TCP/Newreno]
        set receiver($i) [new Agent/TCPSink]
        $sender($i) set packetSize_ 960
        $sender($i) set window_ 10000
    } else {
        set sender($i) [new Agent/TFRC]
        set receiver($i) [new Agent/TFRCSink]
        $sender($i) set packetSize_ 1000
        $sender($i) set useHeaders_ false
    }
    $ns attach-agent $from $sender($i)
    $ns attach-agent $to $receiver($i)
    $ns connect $sender($i) $receiver($i)
    if {$i < 10} {
        set bulk [new Application/FTP]
        $bulk attach-agent $sender($i)
        $ns at [$start value] "$bulk start"
    } else {
        $ns at [$start value] "$sender($i) start"
    }
}
$ns at $seconds {
    set tcp 0.0
    set tfrc 0.0
    for {set i 0} {$i < 10} {incr i} { set tcp [expr {$tcp + [$sender($i) set ack_] * 8000.0}] }
    for {set i 10} {$i < 20} {incr i} { set tfrc [expr {$tfrc + [$receiver($i) set bytes_] * 8.0}] }
    puts "{\"tcp_mbps\": [expr {$tcp / $seconds / 1e6}], \"tfrc_mbps\": [expr {$tfrc / $seconds / 1e6}]}"
    exit 0
}
$ns run
