// OpenAI's Agents SDK for Node.js.

import { Agent, run, setTracingDisabled, tool } from "@openai/agents-core";
import { OpenAIChatCompletionsModel, OpenAIResponsesModel } from "@openai/agents-openai";
import OpenAI from "openai";
import { asked, getWeather, key, main, model, of, parameters, schema, url } from "./peer.mjs";

setTracingDisabled(true);
const client = new OpenAI({ baseURL: url, apiKey: key });
const kinds = {
  chat: () => new OpenAIChatCompletionsModel(client, model),
  responses: () => new OpenAIResponsesModel(client, model),
};
const agent = (kind, more = {}) => new Agent({ name: "a", model: kinds[kind](), ...more });
const weather = tool({
  name: "get_weather",
  description: "The weather in a city.",
  parameters,
  strict: true,
  execute: async ({ city }) => getWeather(city),
});

const chat = async (kind) => (await run(agent(kind), "hi")).finalOutput;
const refused = async (kind) => (await run(agent(kind), "refuse")).finalOutput;

async function stream(kind) {
  let text = "";
  const found = await run(agent(kind), "hi", { stream: true });
  for await (const each of found.toTextStream()) text += each;
  return text;
}

async function tools(kind) {
  const found = await run(agent(kind, { tools: [weather] }), "weather");
  return [found.finalOutput, ...asked];
}

async function turns(kind) {
  const first = await run(agent(kind), "hi");
  const said = [...first.history, { role: "user", content: "recall" }];
  return [first.finalOutput, (await run(agent(kind), said)).finalOutput];
}

async function byId(kind) {
  const first = await run(agent(kind), "hi");
  const more = { previousResponseId: first.lastResponseId };
  return [first.finalOutput, (await run(agent(kind), "recall", more)).finalOutput];
}

async function structured(kind) {
  const outputType = { type: "json_schema", name: "weather", strict: true, schema };
  return (await run(agent(kind, { outputType }), "json")).finalOutput;
}

await main({
  ...of({ chat, stream, tools, turns, structured, refused }),
  responses_turns_by_id: () => byId("responses"),
});
