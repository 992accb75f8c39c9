// The video itself, from the relay that serves the page (WHEP), and the delay of its pictures.

const CLOCK = 90; // of RTP timestamps of a video, per millisecond
const BASELINE = 60e3; // time in milliseconds over which the least transit is kept

// The time that pictures take beyond the least one of late, by their timestamps: the clocks of camera and browser have unknown offsets.
const makeTransits = () => {
  let least = []; // [time, transit], both ascending: the first is the least of those that are kept
  let before = null; // the last timestamp, extended
  return (timestamp, received) => {
    before = before === null ? timestamp : before + (((timestamp - before) % 2 ** 32) + 2 ** 32 + 2 ** 31) % 2 ** 32 - 2 ** 31;
    const transit = received - before / CLOCK;
    least = least.filter(([time, other]) => time > received - BASELINE && other < transit);
    least.push([received, transit]);
    return transit - least[0][1];
  };
};

// Half of the least round trip of the newest connection of late, in milliseconds: that of a picture with the least transit.
const halfTrip = (recording) => {
  const halves = recording.series.filter((series) => series.panel === "delay" && series.name === "half the round trip");
  const known = (series) => series.values.slice(firstAfter(recording.times, recording.end() - BASELINE / 1e3)).filter((value) => value !== null);
  const newest = halves.map(known).findLast((values) => values.length) ?? [0];
  return Math.min(...newest) * 1e3;
};

const connectVideo = (getRecording) => {
  const video = element("video");
  const seen = element("seen");
  let session = null;
  const stop = () => {
    if (!session) return;
    session.peer.close();
    if (session.place) fetch(session.place, { method: "DELETE", keepalive: true }).catch(() => {});
    session = null;
    video.srcObject = null;
    video.hidden = true;
    seen.textContent = "";
    element("watch").setAttribute("aria-pressed", false);
    element("watch").textContent = "Watch the video";
  };
  const follow = (mine) => {
    const transitOf = makeTransits();
    let half = Infinity; // of the least round trip to the relay
    const measure = async () => {
      if (session !== mine) return;
      for (const pair of (await mine.peer.getStats()).values()) {
        if (pair.type === "candidate-pair" && pair.nominated && pair.currentRoundTripTime) half = Math.min(half, pair.currentRoundTripTime * 500);
      }
      setTimeout(measure, 1000);
    };
    measure();
    const frame = (now, { rtpTimestamp, receiveTime, expectedDisplayTime }) => {
      if (session !== mine) return;
      video.requestVideoFrameCallback(frame);
      if (rtpTimestamp === undefined || receiveTime === undefined) return;
      // Until the relay, in the browser's queues, and to the screen.
      mine.delay = halfTrip(getRecording()) + (half < Infinity ? half : 0) + transitOf(rtpTimestamp, receiveTime) + Math.max(0, expectedDisplayTime - receiveTime);
      seen.textContent = `${Math.round(mine.delay)} ms from the camera to this picture`;
    };
    video.requestVideoFrameCallback(frame);
  };
  const start = async () => {
    const peer = new RTCPeerConnection();
    const mine = { peer, place: null, delay: null };
    session = mine;
    element("watch").setAttribute("aria-pressed", true);
    element("watch").textContent = "Stop the video";
    seen.textContent = "The video begins with the next key frame.";
    const { receiver } = peer.addTransceiver("video", { direction: "recvonly" });
    receiver.jitterBufferTarget = 0; // the relay has put the packets in order
    peer.addEventListener("connectionstatechange", () => {
      if (session !== mine || !["failed", "closed"].includes(peer.connectionState)) return;
      stop();
      seen.textContent = "The video has ended.";
    });
    video.srcObject = new MediaStream([receiver.track]);
    video.hidden = false;
    follow(mine);
    try {
      await peer.setLocalDescription();
      const answer = await fetch(`whep${location.search}`, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: peer.localDescription.sdp });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      mine.place = answer.headers.get("Location").slice(1) + location.search;
      await peer.setRemoteDescription({ type: "answer", sdp: text });
    } catch (error) {
      if (session !== mine) return;
      stop();
      seen.textContent = error.message;
    }
  };
  element("watch").addEventListener("click", () => (session ? stop() : start()));
  window.addEventListener("pagehide", stop);
};
