/**
 * Recorded streams through the official AG-UI client, exactly as an application would use it.
 *
 * Standard input: {"threadId", "messages", "state", "cut", "runs": [{"stream", "resume"?, "runId"}]};
 * each stream is the text of one response, handed to the client in pieces of `cut` bytes.
 * Standard output: what the client made of it,
 * {"runs": [{"types", "outcome"?, "error"?}], "messages", "state", "pending", "warnings"}.
 */
import { HttpAgent } from "@ag-ui/client";
import { readFileSync } from "node:fs";

const job = JSON.parse(readFileSync(0, "utf8"));
const warnings = [];
for (const level of ["warn", "error"]) {
  console[level] = (...parts) => warnings.push(parts.map(String).join(" "));
}

/** A response whose body arrives in pieces. */
function replay(text) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += job.cut)));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

let stream = "";
const agent = new HttpAgent({
  url: "http://recorded.invalid/",
  threadId: job.threadId,
  initialMessages: job.messages,
  initialState: job.state ?? {},
  fetch: async () => replay(stream),
});

const runs = [];
for (const run of job.runs) {
  stream = run.stream;
  const seen = { types: [] };
  runs.push(seen);
  const watch = {
    onEvent: ({ event }) => void seen.types.push(event.type),
    onRunFinishedEvent: ({ outcome }) => void (seen.outcome = outcome),
    onRunErrorEvent: ({ event }) => void (seen.runError = event.message),
  };
  const options = { runId: run.runId, ...(run.resume ? { resume: run.resume } : {}) };
  try {
    await agent.runAgent(options, watch);
  } catch (error) {
    seen.error = String(error?.stack ?? error);
  }
}
const { messages, state } = agent;
const pending = agent.pendingInterrupts ?? [];
process.stdout.write(JSON.stringify({ runs, messages, state, pending, warnings }));
