// A running `treaty mock` on a free port, for as long as a function takes; and counting of checks.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

const root = new URL("../../", import.meta.url).pathname;
const binary = process.env.TREATY_BINARY ?? root + "build/release/treaty";

let passed = 0;
let failed = 0;

export function equal(found, wanted, what) {
  if (isDeepStrictEqual(found, wanted)) {
    passed += 1;
  } else {
    failed += 1;
    console.log(`failed: ${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  }
}

// Runs `use(url)` while a mock plays `script` (any value: JSON is YAML; undefined: the built-in one).
export async function withMock(script, use) {
  const folder = mkdtempSync(join(tmpdir(), "treaty-mock-"));
  const options = ["mock", "--port", "0", "--format", "json", "--quiet"];
  if (script !== undefined) {
    writeFileSync(join(folder, "script.yaml"), JSON.stringify(script));
    options.push("--script", join(folder, "script.yaml"));
  }
  const child = spawn(binary, options, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: child.stdout });
    const [line] = await Promise.race([
      new Promise((resolve) => lines.once("line", (text) => resolve([text]))),
      new Promise((_, reject) => child.once("exit", (code) => reject(new Error(`exit ${code}`)))),
    ]);
    await use(JSON.parse(line).url);
  } finally {
    child.kill();
    rmSync(folder, { recursive: true });
  }
}

// A case that throws is a failure like any other.
export async function attempt(what, run) {
  try {
    await run();
  } catch (error) {
    failed += 1;
    console.log(`failed: ${what}: ${error?.stack ?? error}`);
  }
}

// The error that `run` ends with.
export async function caught(run) {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return undefined;
}

export function finish(name) {
  console.log(`${name}: ${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}
