// A recording: series over time, events, sentences and tables, which grow while the server sends more.

const PANELS = {
  rate: { title: "Rate", unit: "bit/s" },
  loss: { title: "Losses by cause", unit: "packets/s" },
  delay: { title: "Delay", unit: "s" },
  frames: { title: "Frames", unit: "frames/s" },
  queue: { title: "Queues", unit: "packets" },
  air: { title: "Time on the air", unit: "share" },
  paths: { title: "Paths", unit: "bit/s" },
};

const makeRecording = (given) => {
  const recording = { title: "", facts: [], tracks: [], series: [], times: [], marks: [], sentences: [], tables: [], scene: null, ...given };
  recording.end = () => recording.times.at(-1) ?? 0;
  recording.start = () => recording.times[0] ?? 0;
  const found = new Map(); // the panels of the tracks, until more is known
  recording.add = (more) => {
    found.clear();
    for (const [time, ...values] of more.rows) {
      recording.times.push(time);
      recording.series.forEach((series, n) => series.values.push(values[n] ?? null));
    }
    recording.marks.push(...more.marks);
    recording.sentences.push(...more.sentences);
    if (more.tables) recording.tables = more.tables;
    // The server keeps an hour, too.
    const old = recording.times.length - 7200;
    if (old > 600) {
      recording.times.splice(0, old);
      for (const { values } of recording.series) values.splice(0, old);
      recording.marks = recording.marks.filter((mark) => mark.t >= recording.start());
    }
  };
  // The position of the last sample that is not after a time.
  recording.at = (time) => firstAfter(recording.times, time) - 1;
  recording.sentence = (track, time) => recording.sentences.findLast((each) => each.track === track && each.t <= time + 1e-6)?.text ?? "";
  // Series of a track by panel, and those of the network, which belong to every flow.
  recording.panels = (track) => {
    if (!found.has(track)) found.set(track, findPanels(track));
    return found.get(track);
  };
  const findPanels = (track) => {
    const network = recording.tracks.findIndex((each) => each.kind === "network");
    return Object.keys(PANELS).flatMap((panel) => {
      const own = recording.series.filter((series) => series.track === track && series.panel === panel);
      const shared = recording.series.filter((series) => series.track === network && network !== track && series.panel === panel);
      const shown = [...own, ...shared].filter((series) => panel !== "loss" || OFTEN.has(series.name) || series.values.some((value) => value));
      return shown.length ? [{ panel, shown }] : [];
    });
  };
  recording.marksOf = (track) => recording.marks.filter((mark) => mark.track === track || recording.tracks[mark.track]?.kind === "network");
  return recording;
};
// Causes that have a line also if nothing was lost for them.
const OFTEN = new Set(["queue", "radio", "path", "repaired"]);

// The recording in the text of a saved page, or of JSON; null if there is none.
const readRecording = (text) => {
  try {
    const holder = text.trimStart().startsWith("{") ? null : new DOMParser().parseFromString(text, "text/html").getElementById("data");
    const data = JSON.parse(holder ? holder.textContent : text);
    return data && data.version === 1 ? makeRecording(data) : null;
  } catch {
    return null;
  }
};

// A moment that shows something: shortly before the first trouble of the first track that has any, or where data begin.
const worthSeeing = (recording) => {
  const isTrouble = ({ text }) => !/^(nothing is sent|everything arrives|there is no connection)/.test(text);
  const begun = recording.sentences.find(({ text }) => text !== "nothing is sent")?.t ?? recording.start();
  const trouble = recording.sentences.find(isTrouble)?.t ?? begun;
  return Math.max(recording.start(), begun, trouble - 2);
};
