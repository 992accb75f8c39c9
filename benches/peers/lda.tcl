# ns-2: the topologies of paper lda (Cen, Cosman, Voelker), wireless losses in runs.
# Usage: ns lda.tcl TOPOLOGY PROTOCOL FLOWS SEED
#   TOPOLOGY  WLH (wireless last hop) or WB (wireless backbone)
#   PROTOCOL  TFRC, Reno, Newreno or Sack1
# Prints one JSON object; rates are in percent of the bottleneck's, over 200 s after a warm-up of 20 s.
# Throughput counts departures from the bottleneck, including packets that the radio then lost.
foreach {topology protocol flows seed} $argv break
set warm_up 20.0
set measured 200.0
set loss_rate 0.078
set runs {0.70 0.25 0.05}   ;# share of loss runs of one, two and three packets
set size 762

set ns [new Simulator]
$defaultRNG seed $seed

# The paper's rule: max(rate / 60 kbit/s, 6) packets.
proc queue_limit {rate} { return [expr {max(6, int($rate / 60e3))}] }

# A random variable that takes the values of {value share ...}.
set tables 0
proc discrete {pairs} {
    global tables
    set name "/tmp/whimbrel-cdf.[pid].[incr tables]"
    set file [open $name w]
    set sum 0.0
    foreach {value share} $pairs { set sum [expr {$sum + $share}]; puts $file "$value 1 $sum" }
    close $file
    RandomVariable/Empirical set maxEntry_ [expr {[llength $pairs] / 2 + 4}]
    set variable [new RandomVariable/Empirical]
    $variable set interpolation_ 0
    $variable loadCDF $name
    file delete $name
    return $variable
}

# Alternating runs of good and lost packets. In ns-2's two-state model the packet on which the state flips
# counts as lost, so a good run of G packets is entered as G + 1 and a loss run of B as B - 1.
proc loss_model {} {
    global loss_rate runs
    foreach {one two three} $runs break
    set mean_lost [expr {$one + 2 * $two + 3 * $three}]
    set mean_good [expr {$mean_lost * (1 - $loss_rate) / $loss_rate}]
    set stay [expr {1 - 1 / $mean_good}]
    set good {}
    set rest 1.0
    for {set length 1} {$length < 1000 && $rest > 1e-5} {incr length} {
        lappend good [expr {$length + 1}] [expr {$rest * (1 - $stay)}]
        set rest [expr {$rest * $stay}]
    }
    lappend good [expr {$length + 1}] $rest
    return [new ErrorModel/TwoState [discrete $good] [discrete [list 0 $one 1 $two 2 $three]] pkt]
}

proc add_losses {from to} {
    global ns
    set model [loss_model]
    $ns link-lossmodel $model $from $to
    # Else the queue's monitor would count the radio's losses as its own.
    $model drop-target [new Agent/Null]
}

set lan 10e6
if {$topology == "WLH"} {
    set last 150e3
    set last_delay 10ms
    set shared [expr {max(2, $flows) * 130e3}]
    set bottleneck [expr {$flows == 1 ? $last : $shared}]
} else {
    set last $lan
    set last_delay 1ms
    set shared [expr {$flows <= 8 ? 800e3 : 1600e3}]
    set bottleneck $shared
}
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $shared 20ms DropTail
$ns queue-limit $r1 $r2 [queue_limit $shared]
$ns queue-limit $r2 $r1 [queue_limit $shared]
set shared_queue [$ns monitor-queue $r1 $r2 ""]
set dropping [list $shared_queue]
set counting {}
if {$topology == "WB"} { add_losses $r1 $r2; lappend counting $shared_queue }
for {set i 0} {$i < $flows} {incr i} {
    set from($i) [$ns node]
    set to($i) [$ns node]
    $ns duplex-link $from($i) $r1 $lan 1ms DropTail
    $ns queue-limit $from($i) $r1 [queue_limit $lan]
    $ns duplex-link $r2 $to($i) $last $last_delay DropTail
    $ns queue-limit $r2 $to($i) [queue_limit $last]
    $ns queue-limit $to($i) $r2 [queue_limit $last]
    if {$topology == "WLH"} {
        set queue [$ns monitor-queue $r2 $to($i) ""]
        lappend counting $queue
        lappend dropping $queue
        add_losses $r2 $to($i)
    }
}
# Two exponential on/off sources warm the network up and stop within 2 s after the flows begin.
for {set i 0} {$i < 2} {incr i} {
    set node [$ns node]
    $ns duplex-link $node $r1 $lan 1ms DropTail
    if {$topology == "WLH"} {
        set target $to([expr {$i % $flows}])
    } else {
        set target [$ns node]
        $ns duplex-link $r2 $target $lan 1ms DropTail
    }
    set udp [new Agent/UDP]
    $udp set packetSize_ $size
    set sink [new Agent/Null]
    $ns attach-agent $node $udp
    $ns attach-agent $target $sink
    $ns connect $udp $sink
    set source [new Application/Traffic/Exponential]
    $source set packetSize_ $size
    $source set burst_time_ 500ms
    $source set idle_time_ 500ms
    $source set rate_ [expr {0.5 * $bottleneck}]
    $source attach-agent $udp
    $ns at 0.0 "$source start"
    $ns at [expr {$warm_up + 2 - 0.5 * $i}] "$source stop"
}
set jitter [new RandomVariable/Uniform]
for {set i 0} {$i < $flows} {incr i} {
    if {$protocol == "TFRC"} {
        set sender [new Agent/TFRC]
        set receiver [new Agent/TFRCSink]
        $sender set packetSize_ $size
        $sender set useHeaders_ false
    } else {
        set sender [new Agent/TCP/$protocol]
        set receiver [new Agent/TCPSink[expr {$protocol == "Sack1" ? "/Sack1" : ""}]]
        $sender set packetSize_ [expr {$size - 40}]
        $sender set window_ 1000
        $sender set tcpTick_ 0.01
        $sender set minrto_ 0.2
    }
    $ns attach-agent $from($i) $sender
    $ns attach-agent $to($i) $receiver
    $ns connect $sender $receiver
    set begin [expr {$warm_up + [$jitter value]}]
    if {$protocol == "TFRC"} {
        $ns at $begin "$sender start"
    } else {
        set bulk [new Application/FTP]
        $bulk attach-agent $sender
        $ns at $begin "$bulk start"
    }
}
proc counters {} {
    global counting dropping
    set bytes 0.0
    set packets 0.0
    set drops 0.0
    foreach queue $counting {
        set bytes [expr {$bytes + [$queue set bdepartures_]}]
        set packets [expr {$packets + [$queue set pdepartures_]}]
    }
    foreach queue $dropping { set drops [expr {$drops + [$queue set pdrops_]}] }
    return [list $bytes $packets $drops]
}
set begin [expr {$warm_up + 2}]
$ns at $begin "set before \[counters\]"
$ns at [expr {$begin + $measured}] {
    foreach {b0 p0 d0} $before {b1 p1 d1} [counters] break
    set throughput [expr {100.0 * 8 * ($b1 - $b0) / ($bottleneck * $measured)}]
    set congestion [expr {100.0 * ($d1 - $d0) / ($p1 - $p0)}]
    puts "{\"throughput\": $throughput, \"congestion_loss\": $congestion, \"packets\": [expr {$p1 - $p0}]}"
    exit 0
}
$ns run
