// The frame with the live page, which takes a recording in messages, or contains one.

const makeFrame = (frame, livePage) => {
  let waiting = null; // events for a page that does not listen yet
  let address = "";
  const open = (content) => {
    URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob([content], { type: "text/html" }));
    frame.hidden = false;
    frame.src = address;
  };
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data.height) frame.style.height = `${Math.ceil(data.height) + 2}px`;
    if (!data.ready || !waiting) return;
    for (const event of waiting) frame.contentWindow.postMessage(event, "*");
    waiting = null;
  });
  let isLive = false;
  return {
    // A run has begun, and its events follow.
    restart: () => (isLive = false),
    tell: (event) => {
      if (!isLive) {
        waiting = [];
        open(livePage);
      }
      isLive = true;
      if (waiting) waiting.push(event);
      else frame.contentWindow.postMessage(event, "*");
    },
    show: (page) => {
      waiting = null;
      open(page);
    },
  };
};
