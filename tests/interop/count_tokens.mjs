/**
 * Counts tokens with OpenAI's vocabulary. Standard input: ["text", …]; standard output: [count, …].
 */
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { readFileSync } from "node:fs";

const tokenizer = new Tiktoken(o200k);
const texts = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => tokenizer.encode(text, [], []).length)));
