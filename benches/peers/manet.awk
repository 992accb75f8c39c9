# The figures of a run of manet.tcl, of its trace in the old wireless format.
$4 == "AGT" && $1 == "s" && $7 == "cbr" { sent++; at[$6] = $2 }
$4 == "RTR" && $1 == "r" && $7 == "cbr" { arrived++ }
$4 == "AGT" && $1 == "r" && $7 == "cbr" { received++; delay += $2 - at[$6] }
$4 == "RTR" && ($1 == "s" || $1 == "f") && ($7 == "message" || $7 == "AODV") { messages++; bytes += $8 }
$1 == "D" && $7 == "cbr" { dropped[$4 " " $5]++ }
END {
    print "sent received hops delay messages bytes"
    print sent + 0, received + 0, (arrived - sent + received) / received, delay / received, messages + 0, bytes + 0
    for (cause in dropped) print cause, dropped[cause] > "/dev/stderr"
}
