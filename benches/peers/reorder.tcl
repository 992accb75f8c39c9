# ns-2: a flow over the dumbbell of paper reorder, behind which 5 % of the packets are delayed (its Table I).
# Usage: ns reorder.tcl AGENT BYTES RTT DELAY JITTER ENOUGH SEED
#   AGENT   TFRC (Agent/TFRC) or DCCP (Agent/DCCP/TFRC)
#   RTT, DELAY, JITTER   in seconds; packets are delayed by DELAY +- JITTER, uniform, in twenty steps
#   ENOUGH  later packets that prove a loss; 1 is the default of Agent/TFRCSink
# Prints one JSON object: rate behind the bottleneck in kbit/s over 180 s after a warm-up of 20 s.
foreach {agent bytes rtt delay jitter enough seed} $argv break
set warm_up 20.0
set end 200.0
set share 0.05
set steps 20

set ns [new Simulator]
$defaultRNG seed $seed
foreach name {sender near far receiver} { set $name [$ns node] }
$ns duplex-link $sender $near 100Mb 1ms DropTail
$ns duplex-link $near $far 1Mb [expr {$rtt / 2 - 0.002}] DropTail
$ns duplex-link $far $receiver 100Mb 1ms DropTail
$ns queue-limit $sender $near 1000
$ns queue-limit $near $far 50

# Behind the bottleneck a classifier uses its slots in turn, and a slot, with probability SHARE, leads over a link with
# an additional delay. (An ErrorModel with a drop target cannot do that: it marks packets as damaged, and DCCP agents
# discard those.) The number of slots is large enough that no pattern repeats within a few round trips.
set slots 4001
set from_bottleneck [[$ns link $near $far] link]
set onwards [$from_bottleneck target]
set ways {}
for {set i 0} {$i < $steps} {incr i} {
    set way [new DelayLink]
    $way set bandwidth_ 1e12
    $way set delay_ [expr {$delay - $jitter + 2 * $jitter * ($i + 0.5) / $steps}]
    $way target $onwards
    set queue [new Queue/DropTail]
    $queue target $way
    lappend ways $queue
}
set turns [new Classifier/MultiPath]
set chance [new RandomVariable/Uniform]
set chosen [new RandomVariable/Uniform]
$chosen set max_ $steps
for {set i 0} {$i < $slots} {incr i} {
    if {[$chance value] < $share} {
        $turns installNext [lindex $ways [expr {int([$chosen value])}]]
    } else {
        $turns installNext $onwards
    }
}
$from_bottleneck target $turns

if {$agent == "TFRC"} {
    set from [new Agent/TFRC]
    set to [new Agent/TFRCSink]
    $to set numPkts_ $enough
    set source [new Application/FTP]
} else {
    set from [new Agent/DCCP/TFRC]
    set to [new Agent/DCCP/TFRC]
    # Fast connections are reset by its ECN check.
    foreach half [list $from $to] {
        $half set use_ecn_local_ 0
        $half set use_ecn_remote_ 0
        $half set num_dup_acks_ $enough
    }
    $from set s_s_ $bytes
    $to set r_s_ $bytes
    set source [new Application/Traffic/CBR]
    $source set packetSize_ $bytes
    $source set rate_ 5Mb
    $ns at 0.0 "$to listen"
}
$from set packetSize_ $bytes
$ns attach-agent $sender $from
$ns attach-agent $receiver $to
$ns connect $from $to
$source attach-agent $from

set monitor [$ns monitor-queue $near $far ""]
$ns at 0.1 "$source start"
$ns at $warm_up {set before [$monitor set bdepartures_]}
$ns at $end {
    set bits [expr {8.0 * ([$monitor set bdepartures_] - $before)}]
    puts "{\"agent\": \"$agent\", \"bytes\": $bytes, \"rtt_s\": $rtt, \"kbps\": [format %.0f [expr {$bits / ($end - $warm_up) / 1e3}]]}"
    exit 0
}
$ns run
