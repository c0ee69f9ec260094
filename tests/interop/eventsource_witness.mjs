// The `eventsource` package follows the stream of a turn: it loses its connection, resumes by itself
// with Last-Event-ID, and stops when the server says that there is nothing more.

import { EventSource } from "eventsource";
import { attempt, equal, finish, withServer } from "./mock_process.mjs";

const pieces = Array.from({ length: 24 }, (_, number) => `Piece ${number}. `);
const script = [{ text: pieces, chunk_delay: 20 }];
const kinds = ["turn.started", "output.delta", "turn.result"];

// Asks for a streamed turn and hangs up at its first delta: the turn goes on.
async function begin(url, turn) {
  const leaving = new AbortController();
  const response = await fetch(`${url}/v1/agent/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ SessionId: "room/1", TurnId: turn, Instruction: "Talk.", Streaming: true }),
    signal: leaving.signal,
  });
  equal(response.status, 200, "a streamed turn");
  let text = "";
  for await (const part of response.body) {
    text += new TextDecoder().decode(part);
    if (text.includes("output.delta")) break;
  }
  leaving.abort();
}

// A fetch that notes its calls and ends the first `cuts` connections after three blocks of lines.
function cutting(cuts, connections) {
  return async (address, options) => {
    const response = await fetch(address, options);
    connections.push({ status: response.status, resumed: options.headers["Last-Event-ID"] });
    if (connections.length > cuts || response.body === null) return response;
    const { status, headers, url } = response;
    return { body: ReadableStream.from(firstBlocks(response.body, 3)), status, headers, url, redirected: false };
  };
}

async function* firstBlocks(body, count) {
  let text = "";
  for await (const part of body) {
    text += Buffer.from(part).toString("latin1"); // Bytes stay bytes.
    const blocks = text.split("\n\n");
    if (blocks.length > count) {
      yield Buffer.from(`${blocks.slice(0, count).join("\n\n")}\n\n`, "latin1");
      return;
    }
  }
}

// Everything that an EventSource is told until it gives up by itself.
function follow(address, cuts) {
  return new Promise((resolve) => {
    const events = [];
    const connections = [];
    const source = new EventSource(address, { fetch: cutting(cuts, connections) });
    for (const kind of kinds) {
      source.addEventListener(kind, ({ type, lastEventId, data }) => events.push({ type, id: lastEventId, data }));
    }
    source.addEventListener("error", ({ code }) => {
      if (source.readyState === source.CLOSED) resolve({ events, connections, code });
    });
  });
}

function checkWhole({ events, connections, code }, cuts, what) {
  equal(code, 204, `${what}: stops at 204`);
  equal(connections.map(({ status }) => status), [...Array(cuts + 1).fill(200), 204], `${what}: connections`);
  equal(connections[0].resumed, undefined, `${what}: begins at the beginning`);
  equal(connections.slice(1).every(({ resumed }) => Number(resumed) > 0), true, `${what}: resumes`);
  const ids = events.map(({ id }) => Number(id));
  equal(ids.every((id, place) => place === 0 || id > ids[place - 1]), true, `${what}: each event once`);
  equal([events[0].type, events.at(-1).type], ["turn.started", "turn.result"], `${what}: first and last`);
  const deltas = events.filter(({ type }) => type === "output.delta").map(({ data }) => JSON.parse(data).DeltaText);
  equal(deltas.join(""), pieces.join(""), `${what}: the whole text`);
  equal(JSON.parse(events.at(-1).data).Result.PrimaryOutputText.trim(), pieces.join("").trim(), `${what}: the answer`);
}

async function resumes(url) {
  const address = `${url}/v1/sessions/room%2F1/turns/turn%2F7/stream`;
  await begin(url, "turn/7");
  const live = await follow(address, 2);
  checkWhole(live, 2, "during the turn");
  const later = await follow(address, 0);
  checkWhole(later, 0, "after the turn");
  equal(later.events, live.events, "the same events live and replayed");
}

await attempt("resume", () => withServer(script, resumes));
finish("eventsource");
