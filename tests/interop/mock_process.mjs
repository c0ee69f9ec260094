// A running `treaty mock` or `treaty serve` on a free port, for as long as a function takes; and
// counting of checks.

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
  await withProcess(async (folder) => {
    const options = ["mock", "--port", "0", "--format", "json", "--quiet"];
    if (script === undefined) return options;
    writeFileSync(join(folder, "script.yaml"), JSON.stringify(script));
    return [...options, "--script", join(folder, "script.yaml")];
  }, (ready) => use(ready.url));
}

// Runs `use(url)` while a server's default agent plays `script`.
export async function withServer(script, use) {
  await withProcess(async (folder) => {
    const file = join(folder, "script.yaml");
    writeFileSync(file, JSON.stringify(script));
    const config = { agents: { default: { backends: [{ script: file }] } } };
    writeFileSync(join(folder, "treaty.yaml"), JSON.stringify(config));
    return ["serve", "--config", join(folder, "treaty.yaml"), "--state-dir", join(folder, "state"),
      "--listen", "127.0.0.1:0", "--format", "json"];
  }, (ready) => use(ready.url));
}

// Starts the binary with what `prepare(folder)` answers; `use` gets the line that it prints when ready.
async function withProcess(prepare, use) {
  const folder = mkdtempSync(join(tmpdir(), "treaty-interop-"));
  const child = spawn(binary, await prepare(folder), { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: child.stdout });
    const [line] = await Promise.race([
      new Promise((resolve) => lines.once("line", (text) => resolve([text]))),
      new Promise((_, reject) => child.once("exit", (code) => reject(new Error(`exit ${code}`)))),
    ]);
    await use(JSON.parse(line));
  } finally {
    child.kill("SIGKILL");
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
