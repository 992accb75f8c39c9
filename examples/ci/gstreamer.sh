# A live video in RTP, by GStreamer.
SEND='exec gst-launch-1.0 -q videotestsrc is-live=true ! video/x-raw,width=640,height=360,framerate=25/1 ! \
  x264enc tune=zerolatency speed-preset=ultrafast bitrate=700 key-int-max=50 ! rtph264pay mtu=1200 ! \
  udpsink host=receiver port=5004'
RECEIVE='exec gst-launch-1.0 -q udpsrc address=:: port=5004 caps="application/x-rtp,media=video,encoding-name=H264,clock-rate=90000" ! \
  rtpjitterbuffer latency=200 ! rtph264depay ! h264parse ! fakesink'
