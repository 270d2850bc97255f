// One that never ends, with a program in a session of its own.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import test from "node:test";

test("it", async () => {
  spawn("sleep", ["999"], { detached: true, stdio: "ignore" });
  writeFileSync(`${process.env.TESTS_READY}/node`, "");
  await new Promise(() => {});
});
