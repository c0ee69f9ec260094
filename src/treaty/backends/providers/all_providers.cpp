// The table of providers. A row holds only what differs from the defaults in provider.h: Chat
// Completions with a bearer key. CONTRIBUTING.md describes how to add one.
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/provider.h"

namespace treaty::backends {
namespace {

// The SDKs of Anthropic and of Gemini take a base URL without the version, so both forms are read.
std::string with_anthropic_version(std::string_view given) {
  return std::string(given) + (given.ends_with("/v1") ? "" : "/v1");
}

std::string with_gemini_version(std::string_view given) {
  const std::string_view last = given.substr(given.rfind('/') + 1);
  const bool there = last == "v1" || last == "v1beta" || last == "v1alpha";
  return std::string(given) + (there ? "" : "/v1beta");
}

// An endpoint alone means Azure's v1 API, where the model is the deployment's name; a URL of a
// deployment, with its api-version as the query, is taken as it is.
std::string with_azure_api(std::string_view given) {
  const bool whole = given.find("/openai/") != std::string_view::npos;
  return std::string(given) + (whole ? "" : "/openai/v1");
}

// OLLAMA_HOST as Ollama reads it: the scheme and the port may be missing, and 0.0.0.0 is what a
// server binds.
std::string from_ollama_host(std::string_view given) {
  if (given.ends_with("/v1")) given.remove_suffix(3);
  const std::size_t scheme = given.find("://");
  if (scheme != std::string_view::npos) return std::string(given);
  std::string host(given.substr(0, given.find(':')));
  std::string port(given.substr(host.size()));
  if (host.empty() || host == "0.0.0.0") host = "localhost";
  if (port.empty()) port = ":11434";
  return "http://" + host + port;
}

std::string ollama_url(std::string_view base_url, const Call& call, const Protocol& protocol) {
  return fmt::format("{}{}{}", base_url, &protocol == &ollama_native() ? "" : "/v1",
                     protocol.path(call));
}

// What continues a message of the assistant is only known to the beta API, which stands in the
// place of the version.
std::string deepseek_url(std::string_view base_url, const Call& call, const Protocol& protocol) {
  const bool is_beta = &protocol == &chat_completions() && ends_with_prefill(call);
  if (is_beta) {
    for (const std::string_view version : {"/v1", "/beta"}) {
      if (base_url.ends_with(version)) base_url.remove_suffix(version.size());
    }
  }
  return fmt::format("{}{}{}", base_url, is_beta ? "/beta" : "", protocol.path(call));
}

const Provider kProviders[] = {
    // Chat Completions by default: that is what most servers behind an OPENAI_BASE_URL speak.
    {.name = "openai",
     .default_model = "gpt-5-mini",
     .base_url = "https://api.openai.com/v1",
     .base_url_variables = {"OPENAI_BASE_URL"},
     .key = {.environment_variables = {"OPENAI_API_KEY"}},
     .also_speaks = {&responses(), &completions()},
     .style = {.max_tokens_name = "max_completion_tokens",
               .schema_of_object = true,
               .limits_tool_call_ids = true,
               .reasoners_fix_sampling = true,
               .encrypts_reasoning = true,
               .chat_cache_key = true,
               .responses_cache_key = true}},
    {.name = "anthropic",
     .default_model = "claude-haiku-4-5",
     .base_url = "https://api.anthropic.com/v1",
     .base_url_variables = {"ANTHROPIC_BASE_URL"},
     .complete_base_url = with_anthropic_version,
     .key = {.environment_variables = {"ANTHROPIC_API_KEY"}},
     .protocol = &anthropic_messages(),
     .style = {.prefill = Prefill::by_place, .drops_unbound_thoughts = true}},
    {.name = "cerebras",
     .default_model = "gpt-oss-120b",
     .base_url = "https://api.cerebras.ai/v1",
     .base_url_variables = {"CEREBRAS_BASE_URL"},
     .key = {.environment_variables = {"CEREBRAS_API_KEY"}},
     .style = {.max_tokens_name = "max_completion_tokens", .schema_beside_tools = false}},
    // Requests are counted by the day and tokens by the minute; no header says so.
    {.name = "groq",
     .default_model = "llama-3.3-70b-versatile",
     .base_url = "https://api.groq.com/openai/v1",
     .base_url_variables = {"GROQ_BASE_URL"},
     .key = {.environment_variables = {"GROQ_API_KEY"}},
     .also_speaks = {&responses()},
     .style = {.max_tokens_name = "max_completion_tokens", .schema = SchemaStyle::groq},
     .plain_limits = results::PlainLimits::day_requests_minute_tokens},
    // Streams tell usage unasked; ids of tool calls are nine letters or digits.
    {.name = "mistral",
     .default_model = "mistral-small-latest",
     .base_url = "https://api.mistral.ai/v1",
     .base_url_variables = {"MISTRAL_BASE_URL"},
     .key = {.environment_variables = {"MISTRAL_API_KEY"}},
     .style = {.stream_usage = false,
               .short_tool_call_ids = true,
               .prefill = Prefill::prefix_member,
               .chat_cache_key = true}},
    {.name = "gemini",
     .default_model = "gemini-2.5-flash",
     .base_url = "https://generativelanguage.googleapis.com/v1beta",
     .base_url_variables = {"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"},
     .complete_base_url = with_gemini_version,
     .key = {.environment_variables = {"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
     .protocol = &gemini()},
    // Some of those that it asks want reasoning of rounds with tools back in all turns.
    {.name = "openrouter",
     .default_model = "openai/gpt-5-mini",
     .base_url = "https://openrouter.ai/api/v1",
     .base_url_variables = {"OPENROUTER_BASE_URL"},
     .key = {.environment_variables = {"OPENROUTER_API_KEY"}},
     .also_speaks = {&responses()},
     .style = {.schema_of_object = true,
               .reasoning = ReasoningStyle::object,
               .thoughts_of_earlier_turns = true,
               .routes_to_deepseek = true,
               .encrypts_reasoning = true,
               .asks_to_cache_claude = true}},
    {.name = "azure",
     .base_url_variables = {"AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"},
     .complete_base_url = with_azure_api,
     .key = {.environment_variables = {"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"},
             .header = "api-key"},
     .also_speaks = {&responses()},
     .style = {.max_tokens_name = "max_completion_tokens",
               .schema_of_object = true,
               .limits_tool_call_ids = true,
               .reasoners_fix_sampling = true,
               .encrypts_reasoning = true,
               .responses_cache_key = true}},
    {.name = "xai",
     .default_model = "grok-4-fast",
     .base_url = "https://api.x.ai/v1",
     .base_url_variables = {"XAI_BASE_URL"},
     .key = {.environment_variables = {"XAI_API_KEY"}},
     .conversation_header = "x-grok-conv-id",
     .also_speaks = {&responses()},
     .style = {.max_tokens_name = "max_completion_tokens",
               .thoughts_of_earlier_turns = true,
               .encrypts_reasoning = true,
               .responses_cache_key = true}},
    // Knows JSON, but no schema of it. Reasoning of rounds with tools has to go back in all turns.
    {.name = "deepseek",
     .default_model = "deepseek-chat",
     .base_url = "https://api.deepseek.com",
     .base_url_variables = {"DEEPSEEK_BASE_URL"},
     .key = {.environment_variables = {"DEEPSEEK_API_KEY"}},
     .also_speaks = {&responses()},
     .style = {.schema = SchemaStyle::json_object,
               .prefill = Prefill::prefix_member,
               .reasoning = ReasoningStyle::effort_and_thinking,
               .thoughts_of_earlier_turns = true,
               .needs_chat_thoughts = true},
     .url_of = deepseek_url},
    {.name = "together",
     .default_model = "meta-llama/Llama-3.3-70B-Instruct-Turbo",
     .base_url = "https://api.together.xyz/v1",
     .base_url_variables = {"TOGETHER_BASE_URL"},
     .key = {.environment_variables = {"TOGETHER_API_KEY"}},
     .also_speaks = {&completions()},
     .style = {.takes_chat_thoughts = false}},
    // Asks other providers, some of which refuse members that they do not know.
    {.name = "huggingface",
     .default_model = "meta-llama/Llama-3.3-70B-Instruct",
     .base_url = "https://router.huggingface.co/v1",
     .base_url_variables = {"HUGGINGFACE_BASE_URL", "HF_BASE_URL"},
     .key = {.environment_variables = {"HF_TOKEN", "HUGGINGFACE_API_KEY"}},
     .also_speaks = {&responses()},
     .style = {.takes_chat_thoughts = false}},
    // Its own protocol at the root, those of OpenAI below /v1.
    {.name = "ollama",
     .base_url = "http://localhost:11434",
     .base_url_variables = {"OLLAMA_BASE_URL", "OLLAMA_HOST"},
     .complete_base_url = from_ollama_host,
     .key = {.environment_variables = {"OLLAMA_API_KEY"}, .required = false},
     .protocol = &ollama_native(),
     .also_speaks = {&chat_completions(), &responses()},
     .style = {.prefill = Prefill::by_place},
     .url_of = ollama_url},
    // A key is only needed when the server was given one.
    {.name = "vllm",
     .base_url = "http://localhost:8000/v1",
     .base_url_variables = {"VLLM_BASE_URL"},
     .key = {.environment_variables = {"VLLM_API_KEY"}, .required = false},
     .also_speaks = {&responses(), &completions()},
     .style = {.prefill = Prefill::continue_final_message}},
    // Any server that speaks one of the protocols: the user says where, and which.
    {.name = "custom",
     .base_url_variables = {"CUSTOM_BASE_URL"},
     .key = {.environment_variables = {"CUSTOM_API_KEY"}, .required = false},
     .also_speaks = {&completions(), &responses(), &anthropic_messages(), &gemini(),
                     &ollama_native()}},
};

}  // namespace

std::span<const Provider> all_providers() { return kProviders; }

const Provider* find_provider(std::string_view name) {
  for (const Provider& provider : all_providers()) {
    if (provider.name == name) return &provider;
  }
  return nullptr;
}

const Protocol* Provider::find_protocol(std::string_view protocol_name) const {
  if (protocol_name.empty()) return protocol;
  const Protocol* wanted = backends::find_protocol(protocol_name);
  if (wanted == nullptr || wanted == protocol) return wanted;
  for (const Protocol* other : also_speaks) {
    if (other == wanted) return other;
  }
  return nullptr;
}

}  // namespace treaty::backends
