// The part of the address after "#", which has the scenario and the seed: an example by name, or the text itself.

const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

const addressOf = async ({ example, text, original, seed }) => {
  const parts = new URLSearchParams();
  if (text === original) {
    parts.set("example", example);
  } else {
    const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
    parts.set("toml", base64(packed).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
  }
  parts.set("seed", seed);
  return `#${parts}`;
};

// The example, text and seed of an address, as far as it has them.
const readAddress = async (hash) => {
  const parts = new URLSearchParams(hash.slice(1));
  const found = { example: parts.get("example"), text: null, seed: parts.get("seed") };
  const packed = parts.get("toml");
  if (packed) {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    found.text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  }
  return found;
};
