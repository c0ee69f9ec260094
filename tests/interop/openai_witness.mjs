// The `openai` package as a client of `treaty mock`: chat completions and responses, as they are.

import OpenAI from "openai";
import { attempt, caught, equal, finish, withMock } from "./mock_process.mjs";

const clientOf = (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "mock", maxRetries: 0 });
const messages = [{ role: "user", content: "Hello" }];
const calls = [
  { name: "look", arguments: { where: "über dort", deep: [1, { a: null }] }, id: "call_1" },
  { name: "leave", arguments: {} },
];
const usage = { input_tokens: 100, output_tokens: 7, cache_read_tokens: 40 };
const saying = [{ text: ["Let me", " look."], tool_calls: calls, usage }];

async function chat(url) {
  const client = clientOf(url);
  const plain = await client.chat.completions.create({ model: "m", messages });
  equal(plain.choices[0].message.content, "You said: Hello", "chat text");
  equal(plain.choices[0].finish_reason, "stop", "chat finish reason");
  equal(typeof plain._request_id, "string", "chat request id");

  let text = "";
  let last;
  const stream_options = { include_usage: true };
  const stream = await client.chat.completions.create({ model: "m", messages, stream: true, stream_options });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    last = chunk;
  }
  equal(text, "You said: Hello", "chat stream");
  equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens, "chat stream usage");
  equal((await client.models.list()).data.length > 0, true, "models");
}

async function chatTools(url) {
  const client = clientOf(url);
  const { choices, usage: counted } = await client.chat.completions.create({ model: "m", messages });
  equal(choices[0].finish_reason, "tool_calls", "chat tools finish reason");
  equal(choices[0].message.tool_calls.map((call) => call.function.name), ["look", "leave"], "chat tool names");
  equal(JSON.parse(choices[0].message.tool_calls[0].function.arguments), calls[0].arguments, "chat tool arguments");
  equal(counted.prompt_tokens_details.cached_tokens, 40, "chat cached tokens");

  // The package's own joining of deltas.
  const final = await client.chat.completions.stream({ model: "m", messages }).finalChatCompletion();
  const { content, tool_calls } = final.choices[0].message;
  equal(content, "Let me look.", "chat streamed text before tools");
  equal(tool_calls.map((call) => JSON.parse(call.function.arguments)), calls.map((call) => call.arguments), "chat streamed tools");
  equal(tool_calls[0].id, "call_1", "chat streamed tool id");
}

async function chatErrors(url) {
  const client = clientOf(url);
  const cases = [
    [401, OpenAI.AuthenticationError, "invalid_api_key"],
    [404, OpenAI.NotFoundError, "model_not_found"],
    [429, OpenAI.RateLimitError, "rate_limit_exceeded"],
    [500, OpenAI.InternalServerError, null],
  ];
  for (const [status, type, code] of cases) {
    const error = await caught(() => client.chat.completions.create({ model: "m", messages }));
    equal(error instanceof type, true, `chat ${status} class`);
    equal([error.status, error.code], [status, code], `chat ${status} status and code`);
    equal(typeof error.requestID, "string", `chat ${status} request id`);
    if (status === 429) equal(error.headers.get("retry-after"), "20", "chat retry-after");
  }
  const midway = await caught(async () => {
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true });
    for await (const _ of stream);
  });
  equal(midway instanceof OpenAI.APIError, true, "an error in the middle of a chat stream");
  const cut = await caught(() => client.chat.completions.create({ model: "m", messages }));
  equal(cut instanceof Error, true, "a cut answer");
}
const errors = [
  { error: 401 }, { error: 404 }, { error: 429, headers: { "retry-after": "20" } }, { error: 500 },
  { text: "Well,", error: 500 }, { text: "A text.", cut: 20 },
];

async function responses(url) {
  const client = clientOf(url);
  const plain = await client.responses.create({ model: "m", input: "Hello" });
  equal([plain.status, plain.output_text], ["completed", "You said: Hello"], "responses text");
  equal(plain.usage.total_tokens, plain.usage.input_tokens + plain.usage.output_tokens, "responses usage");

  let text = "";
  const types = [];
  for await (const event of await client.responses.create({ model: "m", input: "Hello", stream: true })) {
    types.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  equal(text, "You said: Hello", "responses stream");
  equal([types[0], types.at(-1)], ["response.created", "response.completed"], "responses first and last event");
}

async function responsesTools(url) {
  const client = clientOf(url);
  const check = (response, what) => {
    const found = response.output.filter((item) => item.type === "function_call");
    equal(found.map((call) => JSON.parse(call.arguments)), calls.map((call) => call.arguments), `${what} arguments`);
    equal(found[0].call_id, "call_1", `${what} call_id`);
    equal(response.output_text, "Let me look.", `${what} text`);
  };
  check(await client.responses.create({ model: "m", input: "Hello" }), "responses tools");
  check(await client.responses.stream({ model: "m", input: "Hello" }).finalResponse(), "responses streamed tools");
}

async function responsesEndings(url) {
  const client = clientOf(url);
  const cut = await client.responses.create({ model: "m", input: "Hello" });
  equal([cut.status, cut.incomplete_details?.reason], ["incomplete", "max_output_tokens"], "responses incomplete");
  const refused = await client.responses.create({ model: "m", input: "Hello" });
  equal(refused.output[0].content[0], { type: "refusal", refusal: "No." }, "responses refusal");
  const types = [];
  for await (const event of await client.responses.create({ model: "m", input: "Hello", stream: true })) types.push(event.type);
  equal(types.at(-1), "response.failed", "responses failed");
  const error = await caught(() => client.responses.create({ model: "m", input: "Hello" }));
  equal([error instanceof OpenAI.RateLimitError, error.code], [true, "rate_limit_exceeded"], "responses 429");
}
const endings = [{ text: "A", finish_reason: "length" }, { refusal: "No." }, { text: "A", error: 500 }, { error: 429 }];

async function toolLoop(url) {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tools = [{ type: "function", function: { name: "weather", parameters, function: () => "sunny", parse: JSON.parse } }];
  const runner = clientOf(url).chat.completions.runTools({
    model: "m", messages: [{ role: "user", content: "Ask weather" }], tools,
  });
  equal(await runner.finalContent(), "The tools answered: sunny", "the package's tool loop");
}

await attempt("chat", () => withMock(undefined, chat));
await attempt("chat tools", () => withMock(saying, chatTools));
await attempt("chat errors", () => withMock(errors, chatErrors));
await attempt("responses", () => withMock(undefined, responses));
await attempt("responses tools", () => withMock(saying, responsesTools));
await attempt("responses endings", () => withMock(endings, responsesEndings));
await attempt("tool loop", () => withMock(undefined, toolLoop));
finish("openai");
