// The `@anthropic-ai/sdk` package as a client of `treaty mock`: messages, as they are.

import Anthropic from "@anthropic-ai/sdk";
import { attempt, caught, equal, finish, withMock } from "./mock_process.mjs";

const clientOf = (url) => new Anthropic({ baseURL: url, apiKey: "mock", maxRetries: 0 });
const question = { model: "m", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
const calls = [
  { name: "look", arguments: { where: "über dort", deep: [1, { a: null }] }, id: "toolu_1" },
  { name: "leave", arguments: {} },
];
const usage = { input_tokens: 100, output_tokens: 7, cache_read_tokens: 40, cache_write_tokens: 10 };
const saying = [{ text: ["Let me", " look."], tool_calls: calls, usage }];

async function text(url) {
  const client = clientOf(url);
  const plain = await client.messages.create(question);
  equal(plain.content, [{ type: "text", text: "You said: Hello" }], "text");
  equal([plain.stop_reason, plain.role, plain.type], ["end_turn", "assistant", "message"], "stop reason");
  equal(typeof plain._request_id, "string", "request id");

  const names = [];
  for await (const event of await client.messages.create({ ...question, stream: true })) names.push(event.type);
  equal([names[0], names.at(-1)], ["message_start", "message_stop"], "first and last event");

  const pieces = [];
  const stream = client.messages.stream(question).on("text", (piece) => pieces.push(piece));
  const final = await stream.finalMessage();
  equal(pieces.join(""), "You said: Hello", "streamed pieces");
  equal(final.content[0].text, "You said: Hello", "streamed message");
  equal(final.usage.output_tokens, plain.usage.output_tokens, "streamed usage");
}

async function tools(url) {
  const client = clientOf(url);
  const check = (message, what) => {
    equal(message.stop_reason, "tool_use", `${what} stop reason`);
    equal(message.content[0].text, "Let me look.", `${what} text`);
    const found = message.content.filter((block) => block.type === "tool_use");
    equal(found.map((block) => block.input), calls.map((call) => call.arguments), `${what} input`);
    equal(found[0].id, "toolu_1", `${what} id`);
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = message.usage;
    equal([input_tokens, cache_read_input_tokens, cache_creation_input_tokens], [50, 40, 10], `${what} usage`);
  };
  check(await client.messages.create(question), "tools");
  check(await client.messages.stream(question).finalMessage(), "streamed tools");
}

async function errors(url) {
  const client = clientOf(url);
  const cases = [
    [400, Anthropic.BadRequestError, "invalid_request_error"],
    [401, Anthropic.AuthenticationError, "authentication_error"],
    [404, Anthropic.NotFoundError, "not_found_error"],
    [429, Anthropic.RateLimitError, "rate_limit_error"],
    [500, Anthropic.InternalServerError, "api_error"],
    [529, Anthropic.InternalServerError, "overloaded_error"],
  ];
  for (const [status, type, name] of cases) {
    const error = await caught(() => client.messages.create(question));
    equal([error instanceof type, error.status], [true, status], `${status} class and status`);
    equal(error.error?.error?.type, name, `${status} type`);
    equal(typeof error.requestID, "string", `${status} request id`);
    if (status === 429) equal(error.headers.get("retry-after"), "20", "retry-after");
  }
  const midway = await caught(() => client.messages.stream(question).finalMessage());
  equal(midway instanceof Anthropic.APIError, true, "an error in the middle of a stream");
  equal(midway?.error?.error?.type, "overloaded_error", "its type");
  const refused = await client.messages.create(question);
  equal([refused.stop_reason, refused.content[0].text], ["refusal", "No."], "refusal");
}
const failing = [
  { error: 400 }, { error: 401 }, { error: 404 }, { error: 429, headers: { "retry-after": "20" } },
  { error: 500 }, { error: 529 }, { text: "Well,", error: 529 }, { refusal: "No." },
];

async function toolResults(url) {
  const client = clientOf(url);
  const input_schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const asking = { ...question, messages: [{ role: "user", content: "Use weather" }], tools: [{ name: "weather", input_schema }] };
  const call = await client.messages.create(asking);
  equal(call.content[0].input, { city: "example" }, "the built-in tool call");
  const results = [{ type: "tool_result", tool_use_id: call.content[0].id, content: "sunny" }];
  const messages = [...asking.messages, { role: "assistant", content: call.content }, { role: "user", content: results }];
  const answer = await client.messages.create({ ...asking, messages });
  equal(answer.content[0].text, "The tools answered: sunny", "the answer to tool results");
}

await attempt("text", () => withMock(undefined, text));
await attempt("tools", () => withMock(saying, tools));
await attempt("errors", () => withMock(failing, errors));
await attempt("tool results", () => withMock(undefined, toolResults));
finish("anthropic");
