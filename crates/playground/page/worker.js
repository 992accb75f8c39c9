"use strict";
// The worker: it holds the module, checks scenarios and runs them. Each run has an instance of its own, so that a run always begins
// in the same state, and its memory is free after it.

const PIECE = 50; // time in ms of a piece of a run: a stop is heard after it
const SHOWN = 200; // time in ms between two events for the charts
const FRAMES = 20000; // frames on the air that are recorded

let module = null;
let files = [];
let checker = null;
let current = null; // the instance of the run

const encode = (text) => new TextEncoder().encode(text);
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

const makeInstance = () => {
  const { exports } = new WebAssembly.Instance(module, {});
  exports.prepare();
  // A call may move the memory: its place is taken after it.
  const give = (...parts) => {
    let place = exports.input(parts.reduce((length, part) => length + part.length, 0));
    for (const part of parts) {
      new Uint8Array(exports.memory.buffer).set(part, place);
      place += part.length;
    }
  };
  const bytes = (name, ...given) => {
    const length = exports[name](...given);
    return new Uint8Array(exports.memory.buffer, exports.output(), length).slice();
  };
  const text = (name, ...given) => new TextDecoder().decode(bytes(name, ...given));
  for (const [path, content] of files) {
    const name = encode(path);
    give(name, content);
    exports.add_file(name.length);
  }
  return { exports, give, bytes, text, json: (name, ...given) => JSON.parse(text(name, ...given)) };
};

// The message of an instance that has panicked.
const problemOf = (instance, error) => {
  try {
    return instance.text("problem") || String(error);
  } catch {
    return String(error);
  }
};

const check = ({ text, number }) => {
  const instance = (checker ??= makeInstance());
  try {
    instance.give(encode(text));
    postMessage({ kind: "checked", number, ...instance.json("check") });
  } catch (error) {
    checker = null;
    postMessage({ kind: "checked", number, error: problemOf(instance, error), line: 1 });
  }
};

const complete = ({ text, place, number }) => {
  const instance = (checker ??= makeInstance());
  instance.give(encode(text));
  postMessage({ kind: "completed", number, ...instance.json("complete", place) });
};

const channel = new MessageChannel();
const pause = () =>
  new Promise((done) => {
    channel.port1.onmessage = done;
    channel.port2.postMessage(null);
  });

const digestOf = async (bytes) => {
  // Only pages from a secure origin have it.
  const digest = await self.crypto?.subtle?.digest("SHA-256", bytes);
  return digest ? Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("") : "";
};

const simulate = async ({ text, seed, number, captures }) => {
  const mine = (current = makeInstance());
  const isOver = () => current !== mine;
  try {
    mine.give(encode(text));
    const facts = mine.json("start", BigInt.asUintN(64, BigInt(seed)), FRAMES, captures);
    if (facts.error) {
      postMessage({ kind: "failed", number, ...facts });
      return;
    }
    const capture = [];
    let [looks, spent, shown, ended] = [1, 0, performance.now(), false];
    while (!ended) {
      const before = performance.now();
      ended = Boolean(mine.exports.advance(looks));
      const taken = performance.now() - before;
      spent += taken;
      looks = Math.min(Math.max(Math.round((looks * PIECE) / Math.max(taken, 1)), 1), 2 * looks + 1);
      if (captures) capture.push(mine.bytes("capture"));
      if (ended || performance.now() - shown > SHOWN) {
        postMessage({ kind: "progress", number, now: mine.exports.now(), end: facts.end });
        if (!ended && !captures) postMessage({ kind: "event", number, event: mine.text("event") });
        shown = performance.now();
      }
      await pause();
      if (isOver()) return;
    }
    const page = captures ? null : mine.bytes("page");
    const record = mine.bytes("record");
    const digest = await digestOf(record);
    if (!isOver()) postMessage({ kind: "ended", number, facts, seconds: spent / 1000, page, record, digest, capture });
  } catch (error) {
    if (!isOver()) postMessage({ kind: "failed", number, error: problemOf(mine, error), line: 0 });
  } finally {
    if (!isOver()) current = null;
  }
};

const begin = async (given) => {
  const [code, packed] = await Promise.all([given.module, given.files].map(unpacked));
  module = await WebAssembly.compile(code);
  const all = JSON.parse(new TextDecoder().decode(packed));
  files = Object.entries(all.files).map(([path, content]) => [path, Uint8Array.from(atob(content), (character) => character.charCodeAt(0))]);
  checker = makeInstance();
  postMessage({ kind: "ready", examples: all.examples, exercises: all.exercises, livePage: checker.text("live_page") });
};

const TASKS = { begin, check, complete, run: simulate, stop: () => (current = null) };
addEventListener("message", ({ data }) => {
  Promise.resolve(TASKS[data.task](data)).catch((error) => postMessage({ kind: "broken", error: String(error) }));
});
