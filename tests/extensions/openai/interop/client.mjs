// The official OpenAI SDK for Node.js against a server of ours: each scenario says what came of it.
// Reads {url, key} as JSON from standard input, writes {scenario: what was found} as JSON.

import { readFileSync } from "node:fs";
import OpenAI from "openai";

const { url, key } = JSON.parse(readFileSync(0, "utf8"));
let sent = 0;
const counted = (...request) => ((sent += 1), fetch(...request));
const client = new OpenAI({ baseURL: url, apiKey: key, fetch: counted });
const model = "counter";
const asks = (content) => ({ model, messages: [{ role: "user", content }] });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { name: "get_weather", description: "The weather.", parameters };

async function failure(promise) {
  sent = 0;
  try {
    await promise();
    return "nothing";
  } catch (error) {
    return { kind: error.constructor.name, status: error.status, code: error.code, sent };
  }
}

const scenarios = {
  async models() {
    const names = [];
    for await (const each of client.models.list()) names.push(each.id);
    return names.includes(model);
  },
  async answer() {
    const found = await client.chat.completions.create(asks("hi"));
    return { text: found.choices[0].message.content, tokens: found.usage.total_tokens };
  },
  async stream() {
    let text = "";
    const chunks = await client.chat.completions.create({ ...asks("hi"), stream: true });
    for await (const chunk of chunks) text += chunk.choices[0]?.delta?.content ?? "";
    return text;
  },
  async helper() {
    const stream = client.chat.completions.stream(asks("hi"));
    const deltas = [];
    stream.on("content", (delta) => deltas.push(delta));
    const message = (await stream.finalChatCompletion()).choices[0].message;
    return { text: message.content, together: deltas.join("") };
  },
  async parse() {
    const schema = {
      type: "object",
      properties: { city: { type: "string" }, degrees: { type: "integer" } },
      required: ["city", "degrees"],
    };
    const response_format = { type: "json_schema", json_schema: { name: "weather", schema } };
    const found = await client.chat.completions.parse({ ...asks("json"), response_format });
    return JSON.parse(found.choices[0].message.content);
  },
  async runTools() {
    const runs = [];
    for (const streamed of [false, true]) {
      const asked = [];
      const runner = client.chat.completions.runTools({
        ...asks("mixed"),
        stream: streamed,
        tools: [
          {
            type: "function",
            function: {
              ...weather,
              parse: JSON.parse,
              function: ({ city }) => (asked.push(city), "sunny"),
            },
          },
        ],
      });
      runs.push({ text: await runner.finalContent(), asked });
    }
    return runs;
  },
  async responses() {
    const found = await client.responses.create({ model, input: "hi" });
    const stream = client.responses.stream({ model, input: "hi" });
    const kinds = new Set();
    for await (const event of stream) kinds.add(event.type);
    const last = await stream.finalResponse();
    return { text: found.output_text, streamed: last.output_text, ends: kinds.has("response.completed") };
  },
  async responsesTools() {
    const tools = [{ type: "function", ...weather }];
    const input = [{ role: "user", content: "mixed" }];
    const found = await client.responses.stream({ model, input, tools }).finalResponse();
    const call = found.output.at(-1);
    input.push(...found.output);
    input.push({ type: "function_call_output", call_id: call.call_id, output: "sunny" });
    return (await client.responses.create({ model, input, tools })).output_text;
  },
  async errors() {
    const create = (body) => () => client.chat.completions.create(body);
    const wrong = new OpenAI({ baseURL: url, apiKey: "wrong", fetch: counted });
    return {
      key: await failure(() => wrong.models.list()),
      model: await failure(create({ ...asks("hi"), model: "gpt-4o" })),
      field: await failure(create({ ...asks("hi"), n: 2 })),
      refused: await failure(create(asks("refuse"))),
      began: await failure(create(asks("break"))),
      middle: await failure(async () => {
        for await (const _ of await client.chat.completions.create({ ...asks("middle"), stream: true }));
      }),
    };
  },
};

const found = {};
for (const [name, scenario] of Object.entries(scenarios)) {
  try {
    found[name] = await scenario();
  } catch (error) {
    found[name] = `${error?.stack ?? error}`;
  }
}
console.log(JSON.stringify(found));
