# A live video in an MPEG transport stream, by ffmpeg.
SEND='exec ffmpeg -v error -re -f lavfi -i testsrc2=size=640x360:rate=25 -c:v libx264 -preset ultrafast -tune zerolatency \
  -b:v 700k -maxrate 700k -bufsize 140k -g 50 -f mpegts udp://receiver:5000?pkt_size=1316'
RECEIVE='exec ffmpeg -v quiet -i udp://[::]:5000 -f null -'
