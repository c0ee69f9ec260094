// How treaty.yaml is read: as every YAML file (base/yaml_reader.h), and with what only a
// configuration has: variables, durations, sizes, dollars, files. Values are expanded as they are
// taken; messages quote what the file says, never what a variable holds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "treaty/base/yaml_reader.h"
#include "treaty/config/load.h"

namespace treaty::config {

// ${VAR} and ${VAR:-default} in a value, $$ for a dollar. A dollar before anything else is one. A
// default stands for a variable that is not set or empty, and is taken as it is written. What a
// variable holds is not looked at again.
std::expected<std::string, Diagnostic> expand(std::string_view text,
                                              const backends::Environment& environment);

class ConfigReader final : public yaml::Reader {
 public:
  // The sources outlive the reader. Paths in the file are relative to its folder.
  ConfigReader(std::string file, const Sources& sources)
      : yaml::Reader(std::move(file), Empty::accepted), sources_(sources) {}

  const Sources& sources() const { return sources_; }

  std::optional<std::chrono::milliseconds> duration(
      const yaml::Node& node, std::chrono::milliseconds most,
      std::chrono::milliseconds least = std::chrono::milliseconds(1));
  std::optional<std::int64_t> dollars(const yaml::Node& node);  // More than none, in 10^-12.
  std::optional<std::size_t> size(const yaml::Node& node, std::size_t least, std::size_t most);

  // Absolute; what is relative is so to the folder of the file.
  std::string path_of(std::string_view path) const;

  struct File {
    std::string path;
    std::string text;
  };
  // The file that the value names, read.
  std::optional<File> file(const yaml::Node& node);

 private:
  std::optional<std::string> expanded(const yaml::Node& node) override;
  bool is_reference(const yaml::Node& node) const override;

  const Sources& sources_;
};

template <class Target>
using ConfigMember = yaml::MemberReader<ConfigReader, Target>;

// For tables of members, beside those of base/yaml_reader.h. At most so many hours:
template <int Hours, auto... Path>
void take_duration(ConfigReader& reader, const yaml::Node& node, auto& target) {
  if (const auto time = reader.duration(node, std::chrono::hours(Hours))) {
    (target.*....*Path) = *time;
  }
}
template <std::size_t Least, std::size_t Most, auto... Path>
void take_size(ConfigReader& reader, const yaml::Node& node, auto& target) {
  if (const auto size = reader.size(node, Least, Most)) (target.*....*Path) = *size;
}
// The values of the member's type are in the order of the words.
template <const auto& Words, auto... Path>
void take_word(ConfigReader& reader, const yaml::Node& node, auto& target) {
  auto& member = (target.*....*Path);
  const auto index = reader.word(node, Words);
  if (index) member = static_cast<std::remove_reference_t<decltype(member)>>(*index);
}
// Where it stands, for later.
template <auto Place>
void take_place(ConfigReader& /*reader*/, const yaml::Node& node, auto& target) {
  target.*Place = &node;
}

}  // namespace treaty::config
