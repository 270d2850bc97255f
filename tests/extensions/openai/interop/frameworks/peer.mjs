// What the programs for Node.js in this folder have in common: see peer.py.

import { readFileSync } from "node:fs";

export const given = JSON.parse(readFileSync(0, "utf8"));
export const { url, key } = given;
export const model = "counter";
export const asked = [];
export const getWeather = (city) => (asked.push(city), "sunny");
export const schema = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "integer" } },
  required: ["city", "degrees"],
  additionalProperties: false,
};
export const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

// The cases of both APIs: {name: async (kind) => …} by `name` and `responses_name`.
export function of(made) {
  const cases = {};
  for (const [name, make] of Object.entries(made)) {
    cases[name] = () => make("chat");
    cases[`responses_${name}`] = () => make("responses");
  }
  return cases;
}

export async function main(cases) {
  const found = {};
  for (const [name, each] of Object.entries(cases)) {
    if (given.only && !given.only.includes(name)) continue;
    asked.length = 0;
    try {
      found[name] = await each();
    } catch (error) {
      found[name] = { raised: error?.name, said: `${error?.message ?? error}`.slice(0, 600) };
      if (given.traces) console.error(error);
    }
  }
  console.log(`\n${JSON.stringify(found)}`);
  process.exit(0); // some leave timers behind
}
