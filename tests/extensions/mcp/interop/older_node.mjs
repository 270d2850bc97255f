// Lets Node 20 load the conformance tests: they import fs.globSync, which is of Node 22, for reports
// that are not asked for here.  node --import ./tests/extensions/mcp/interop/older_node.mjs …

import { register } from "node:module";

const text = (code) => `data:text/javascript,${encodeURIComponent(code)}`;
const fs = text(
  'export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];',
);
register(
  text(
    `export const resolve = (name, context, next) =>
       name === "fs" && context.parentURL?.includes("/conformance/dist/")
         ? { url: ${JSON.stringify(fs)}, shortCircuit: true }
         : next(name, context);`,
  ),
);
