// A second witness of the contracts: ajv judges every vector by the schemas that `treaty schema`
// prints, and has to agree with the vector. A refusal may be missed only when every rule that the
// vector violates stands in inexpressible.json, and a rule may stand there only while it is true.
//
// Environment: TREATY_BINARY (default build/release/treaty), TREATY_VECTORS (default
// tests/vectors), TREATY_SCHEMA_DIR (read the schema files there instead of asking the binary).

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import Ajv2020 from "ajv/dist/2020.js";

const root = new URL("../../", import.meta.url).pathname;
const binary = process.env.TREATY_BINARY ?? root + "build/release/treaty";
const vectorDir = process.env.TREATY_VECTORS ?? root + "tests/vectors";
const schemaDir = process.env.TREATY_SCHEMA_DIR;

// Contract → the stem of its schema file.
const contracts = {
  request: "agent_execute_request",
  response: "agent_execute_response",
  "invoke-result": "invoke_result",
  "agent-result": "agent_result",
  "bridge-request": "bridge_request",
  "bridge-response": "bridge_response",
  assistant: "assistant_response",
};
const inTwoDialects = ["request", "response", "invoke-result"];
const vectorFiles = [
  "json", "request", "response", "invoke_result", "agent_result", "bridge_request",
  "bridge_response", "assistant", "tools",
];

let passed = 0;
let failed = 0;
function expect(holds, complaint) {
  if (holds) {
    passed += 1;
  } else {
    failed += 1;
    console.log(`failed: ${complaint}`);
  }
}

// ---- Schemas

const lowerFirst = (name) => name[0].toLowerCase() + name.slice(1);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// The schema of the camelCase dialect: the names of members are rewritten where keywords hold them.
function camelCase(schema) {
  if (Array.isArray(schema)) return schema.map(camelCase);
  if (!isObject(schema)) return schema;
  const rewrite = ([keyword, value]) => {
    if (keyword === "required") return [keyword, value.map(lowerFirst)];
    if (keyword !== "properties") return [keyword, camelCase(value)];
    const members = Object.entries(value).map(([name, s]) => [lowerFirst(name), camelCase(s)]);
    return [keyword, Object.fromEntries(members)];
  };
  return Object.fromEntries(Object.entries(schema).map(rewrite));
}

function readSchema(contract, dialect) {
  if (schemaDir) {
    const schema = JSON.parse(readFileSync(`${schemaDir}/${contracts[contract]}.schema.json`));
    return dialect === "camel" ? camelCase(schema) : schema;
  }
  const options = dialect === "camel" ? ["--dialect", "camel"] : [];
  return JSON.parse(execFileSync(binary, ["schema", contract, ...options], { encoding: "utf8" }));
}

// "request/pascal" → the compiled schema. Snake_case contracts have the one dialect "pascal" too.
const validators = new Map();
const schemas = new Map();
function compile(contract, dialect) {
  const name = `${contract}/${dialect}`;
  try {
    const schema = readSchema(contract, dialect);
    const ajv = new Ajv2020({ strict: true, allErrors: true, logger: false });
    expect(ajv.validateSchema(schema), `${name} against its meta-schema: ${ajv.errorsText()}`);
    schemas.set(name, schema);
    validators.set(name, ajv.compile(schema));
    passed += 1;
  } catch (error) {
    expect(false, `${name} is no schema that ajv's strict mode takes: ${error.message}`);
  }
}

// Every member name that a schema speaks of, in PascalCase.
function namesOf(schema, names = new Set()) {
  if (Array.isArray(schema)) schema.forEach((s) => namesOf(s, names));
  if (!isObject(schema)) return names;
  Object.keys(schema.properties ?? {}).forEach((name) => names.add(name));
  Object.values(schema).forEach((s) => namesOf(s, names));
  return names;
}

// InvokeResult holds a copy of the response's schema, so that each file can stand alone.
function copiesAgree() {
  const { $schema, $id, title, description, $defs, ...response } = schemas.get("response/pascal");
  const inner = schemas.get("invoke-result/pascal").$defs;
  const { title: _, ...copy } = inner.response;
  expect(isDeepStrictEqual(copy, response), "invoke-result has another copy of the response");
  for (const [name, definition] of Object.entries($defs)) {
    expect(isDeepStrictEqual(inner[name], definition), `invoke-result has another ${name}`);
  }
}

// ---- Vectors

function readVectors(file) {
  const path = `${vectorDir}/${file}`;
  if (!existsSync(path)) {
    expect(false, `no vectors: ${file}`);
    return [];
  }
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
}

function bytesOf(vector) {
  if (vector.document_base64 !== undefined) return Buffer.from(vector.document_base64, "base64");
  const parts = vector.document_parts ?? [[vector.document, 1]];
  return Buffer.from(parts.map(([text, times]) => text.repeat(times)).join(""));
}

// Nothing when it is not JSON, not UTF-8, or begins with a byte order mark.
function parse(bytes) {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch {
    return undefined;
  }
}

// "pascal" or "camel" when all known names are written so (pascal when none is), else "other".
function dialectOf(document, known) {
  const spelt = new Map([...known].map((name) => [name.toLowerCase(), name]));
  const seen = new Set();
  const todo = [document];
  while (todo.length > 0) {
    const value = todo.pop();
    if (value === null || typeof value !== "object") continue;
    for (const name of Array.isArray(value) ? [] : Object.keys(value)) {
      const pascal = spelt.get(name.toLowerCase());
      if (pascal === undefined || (name === pascal && name === lowerFirst(pascal))) continue;
      seen.add(name === pascal ? "pascal" : name === lowerFirst(pascal) ? "camel" : "other");
    }
    for (const inner of Object.values(value)) todo.push(inner);
  }
  if (seen.size > 1) return "other";
  return [...seen][0] ?? "pascal";
}

const inexpressible = JSON.parse(readFileSync(new URL("inexpressible.json", import.meta.url)));
const skipped = { unreadable: 0, "names of mixed or other case": 0, "beyond the validator": 0 };

// The rules that a vector violates; what it is about when it leaves them open.
function violatedRules({ expect: { violations = [], rules = [] }, covers }) {
  const stated = [...new Set([...violations.map(([rule]) => rule), ...rules])];
  return stated.length > 0 ? stated : covers;
}

// Rule → how many vectors violate it alone, and how many of them the schema refuses.
const alone = new Map();
function countAlone(vector, refused) {
  if (vector.expect.valid || vector.expect.more) return;
  const [rule, ...others] = violatedRules(vector);
  if (others.length > 0) return;
  const count = alone.get(rule) ?? { vectors: 0, refused: 0 };
  count.vectors += 1;
  count.refused += refused ? 1 : 0;
  alone.set(rule, count);
}

// True, false, or undefined when the schema has no say.
function judge(vector) {
  const parsed = parse(bytesOf(vector));
  if (parsed === undefined) {
    skipped.unreadable += 1;
    countAlone(vector, false);
    return undefined;
  }
  let dialect = "pascal";
  if (inTwoDialects.includes(vector.contract)) {
    dialect = dialectOf(parsed.value, namesOf(schemas.get(`${vector.contract}/pascal`)));
  }
  const validate = validators.get(`${vector.contract}/${dialect}`);
  if (validate === undefined) {
    skipped["names of mixed or other case"] += 1;
    return undefined;
  }
  try {
    const accepted = validate(parsed.value);
    countAlone(vector, !accepted);
    return { accepted, why: (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message}`) };
  } catch {
    skipped["beyond the validator"] += 1;
    return undefined;
  }
}

function tryVector(vector) {
  const strictProducer =
    (vector.profile ?? "strict") === "strict" && (vector.role ?? "producer") === "producer";
  if (!strictProducer || !(vector.contract in contracts)) return;
  const verdict = judge(vector);
  // With a request or an inner document the verdict is about more than the schema sees.
  if (verdict === undefined || vector.request !== undefined || vector.inner !== undefined) return;

  if (vector.expect.valid) {
    const why = verdict.why.join("; ");
    expect(verdict.accepted, `${vector.id} is valid, the schema refuses it: ${why}`);
    return;
  }
  const rules = violatedRules(vector);
  expect(
    !verdict.accepted || rules.every((rule) => rule in inexpressible),
    `${vector.id} violates ${rules.join(", ")}, the schema accepts it`,
  );
}

// A rule of the list is one of the vectors' rules, and not one that the schemas express entirely.
function checkList(covered) {
  for (const rule of Object.keys(inexpressible)) {
    const count = alone.get(rule);
    expect(covered.has(rule), `inexpressible.json lists ${rule}, which no vector covers`);
    expect(
      count === undefined || count.refused < count.vectors,
      `inexpressible.json lists ${rule}, but the schemas refuse every vector that violates it`,
    );
  }
}

// ---- The run

for (const contract of Object.keys(contracts)) {
  compile(contract, "pascal");
  if (inTwoDialects.includes(contract)) compile(contract, "camel");
}
if (failed === 0) {
  copiesAgree();
  vectorFiles.flatMap((file) => readVectors(`${file}.ndjson`)).forEach(tryVector);
  const everyFile = existsSync(vectorDir) ? readdirSync(vectorDir) : [];
  const every = everyFile.filter((file) => file.endsWith(".ndjson")).flatMap(readVectors);
  checkList(new Set(every.flatMap((vector) => vector.covers ?? [])));
  for (const [reason, count] of Object.entries(skipped)) {
    console.log(`left out, ${reason}: ${count}`);
  }
  console.log("rules that a schema cannot express, or only in part:");
  for (const [rule, reason] of Object.entries(inexpressible)) {
    const { vectors = 0, refused = 0 } = alone.get(rule) ?? {};
    console.log(`  ${rule.padEnd(8)} ${refused} of ${vectors} refused. ${reason}`);
  }
}
console.log(`schemas: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
