/**
 * A thread in the official AG-UI client against a live server, steered a line of JSON at a time.
 *
 * {"do": "open", url, headers, threadId, messages, state}   a fresh HttpAgent, as after a reload
 * {"do": "say", "message"}                                  what the application adds to the thread
 * {"do": "run", "parameters", "abortAt"?, "tellAt"?, "cut"?, "stream"?}
 *
 * `abortAt` and `tellAt` are event types: at the first such event the run is aborted, or a line
 * {"seen"} written. `stream` is the text of a response that is played instead of asking the server.
 * Each command answers one line: {"types", "outcome"?, "interrupts"?, "calls"?, "error"?, "runError"?,
 * "sent", "text", "messages", "state", "pending", "warnings"}.
 */
import { HttpAgent } from "@ag-ui/client";
import { createInterface } from "node:readline";

let warnings = [];
for (const level of ["warn", "error"]) {
  console[level] = (...parts) => warnings.push(parts.map(String).join(" "));
}
// The client leaves a rejection of its own behind when a connection breaks (run/http-request.ts).
process.on("unhandledRejection", (error) => void warnings.push(String(error)));
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

let agent;
let seen;
let played;

/** The server's answer, or the one that is played; what is read of it is kept. */
async function watched(url, init) {
  seen.sent = JSON.parse(init.body);
  const answer = played === undefined ? await fetch(url, init) : new Response(played);
  const decoder = new TextDecoder();
  const keep = new TransformStream({
    transform(piece, controller) {
      seen.text += decoder.decode(piece, { stream: true });
      controller.enqueue(piece);
    },
  });
  return new Response(answer.body.pipeThrough(keep), { status: answer.status, headers: answer.headers });
}

async function run({ parameters, abortAt, tellAt, stream }) {
  seen = { types: [], text: "" };
  played = stream;
  let told = false;
  const watch = {
    onEvent: ({ event }) => {
      seen.types.push(event.type);
      if (event.type === tellAt && !told) {
        told = true;
        write({ seen: event.type });
      }
      if (event.type === abortAt) agent.abortRun();
    },
    onRunFinishedEvent: ({ outcome, interrupts, pendingToolCallIds }) => {
      Object.assign(seen, { outcome, interrupts, calls: pendingToolCallIds });
    },
    onRunErrorEvent: ({ event }) => void (seen.runError = event),
  };
  try {
    await agent.runAgent(parameters, watch);
  } catch (error) {
    seen.error = String(error?.message ?? error);
    seen.payload = error?.payload;
  }
  return seen;
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  warnings = [];
  let found = {};
  if (order.do === "open") {
    const { url, headers, threadId, messages: initialMessages, state: initialState } = order;
    agent = new HttpAgent({ url, headers, threadId, initialMessages, initialState, fetch: watched });
  } else if (order.do === "say") {
    agent.addMessage(order.message);
  } else {
    found = await run(order);
  }
  const { messages, state } = agent;
  write({ ...found, messages, state, pending: agent.pendingInterrupts, warnings });
}
