// LangChain for Node.js.

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { asked, getWeather, key, main, model, parameters, schema, url } from "./peer.mjs";

const llm = (more = {}) =>
  new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: url }, ...more });
const weather = tool(async ({ city }) => getWeather(city), {
  name: "get_weather",
  description: "The weather in a city.",
  schema: parameters,
});

async function used(llm) {
  const bound = llm.bindTools([weather]);
  const said = [new HumanMessage("weather")];
  const first = await bound.invoke(said);
  said.push(first);
  for (const call of first.tool_calls)
    said.push(new ToolMessage({ content: getWeather(call.args.city), tool_call_id: call.id }));
  return [(await bound.invoke(said)).text, ...asked];
}

async function turns(llm) {
  const first = await llm.invoke("hi");
  const said = [new HumanMessage("hi"), first, new HumanMessage("recall")];
  return [first.text, (await llm.invoke(said)).text];
}

async function streamed(llm) {
  let text = "";
  for await (const each of await llm.stream("hi")) text += each.text;
  return text;
}

const responses = { useResponsesApi: true };
await main({
  chat: () => llm().invoke("hi").then((each) => each.text),
  stream: () => streamed(llm()),
  tools: () => used(llm()),
  turns: () => turns(llm()),
  structured: () => llm().withStructuredOutput(schema, { method: "jsonSchema" }).invoke("json"),
  refused: () => llm().invoke("refuse").then((each) => each.text),
  responses_stream: () => streamed(llm(responses)),
  responses_tools: () => used(llm(responses)),
  responses_turns: () => turns(llm(responses)),
});
