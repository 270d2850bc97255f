// Vercel's AI SDK: the release that is given, with its own provider of OpenAI.

import { asked, getWeather, given, key, main, model, of, parameters, schema, url } from "./peer.mjs";

const older = given.release === 6;
const ai = await import(older ? "ai6" : "ai");
const { createOpenAI } = await import(older ? "ai6-openai" : "@ai-sdk/openai");
const { generateText, streamText, jsonSchema, tool, stepCountIs, isStepCount, Output } = ai;
const openai = createOpenAI({ baseURL: url, apiKey: key });
const kinds = { chat: openai.chat(model), responses: openai.responses(model) };
const count = isStepCount ?? stepCountIs;
const weather = tool({
  description: "The weather in a city.",
  inputSchema: jsonSchema(parameters),
  execute: async ({ city }) => getWeather(city),
});

const chat = async (kind) => (await generateText({ model: kinds[kind], prompt: "hi" })).text;

async function stream(kind) {
  let text = "";
  for await (const each of streamText({ model: kinds[kind], prompt: "hi" }).textStream) text += each;
  return text;
}

async function tools(kind) {
  const found = await generateText({
    model: kinds[kind],
    prompt: "weather",
    tools: { get_weather: weather },
    stopWhen: count(3),
  });
  return [found.text, ...asked];
}

async function turns(kind) {
  const messages = [{ role: "user", content: "hi" }];
  const first = await generateText({ model: kinds[kind], messages });
  messages.push(...(first.responseMessages ?? first.response.messages));
  messages.push({ role: "user", content: "recall" });
  return [first.text, (await generateText({ model: kinds[kind], messages })).text];
}

async function structured(kind) {
  const output = Output.object({ schema: jsonSchema(schema) });
  const found = await generateText({ model: kinds[kind], prompt: "json", output });
  return found.output;
}

const thoughts = async (kind) =>
  (await generateText({ model: kinds[kind], prompt: "hi" })).reasoningText ?? null;

async function streamedThoughts(kind) {
  let text = "";
  const found = streamText({ model: kinds[kind], prompt: "hi" });
  for await (const each of found.fullStream) if (each.type === "reasoning-delta") text += each.text;
  return text;
}

const refused = async (kind) => (await generateText({ model: kinds[kind], prompt: "refuse" })).text;
const broke = async (kind) => (await generateText({ model: kinds[kind], prompt: "break" })).text;

const cases = of({ chat, stream, tools, turns, structured, refused, broke });
Object.assign(cases, {
  responses_thoughts: () => thoughts("responses"),
  responses_streamed_thoughts: () => streamedThoughts("responses"),
});
if (!older) {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const likely = createOpenAICompatible({ name: "yaa", baseURL: url, apiKey: key });
  kinds.like = likely.chatModel(model); // the provider of OpenAI itself reads no thoughts in chats
  cases.thoughts = () => thoughts("like");
  cases.streamed_thoughts = () => streamedThoughts("like");
}
await main(cases);
