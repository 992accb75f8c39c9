# Datagrams of a constant rate, by iperf3, which also has a connection for control.
SEND='exec iperf3 --client receiver --udp --bitrate 700k --length 1200 --time 600'
RECEIVE='exec iperf3 --server --one-off'
