/// \file
/// How the options of a command are set from text: one setter per option, in a table by name, so
/// that the command line, a test and a file set them alike and refuse the same nonsense.
#pragma once

#include <fmt/format.h>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numbers.hpp"

namespace kolam::app {

/// Sets an option of `O` from its text; the name is for the message.
template <class O>
using Setter = std::function<void(O&, std::string_view name, const std::string& text)>;

/// By name, `--width`.
template <class O>
using Setters = std::map<std::string_view, Setter<O>>;

/// No size that anybody needs is larger.
inline constexpr std::int64_t many = 1'000'000;

template <class O>
Setter<O> integer(std::int64_t O::*field, std::int64_t least, std::int64_t most = many) {
  return [=](O& options, std::string_view name, const std::string& text) {
    options.*field = parse_integer(name, text, least, most);
  };
}

template <class O>
Setter<O> number(double O::*field, double least, double most) {
  return [=](O& options, std::string_view name, const std::string& text) {
    options.*field = parse_number(name, text, least, most);
  };
}

/// One of a few words.
template <class O, class E>
Setter<O> choice(E O::*field, std::vector<std::pair<std::string, E>> words) {
  return [=](O& options, std::string_view name, const std::string& text) {
    std::string expected;
    for (const auto& [word, value] : words) {
      if (text == word) {
        options.*field = value;
        return;
      }
      const bool is_last = word == words.back().first;
      expected += (expected.empty() ? "" : is_last ? " or " : ", ") + word;
    }
    throw ConfigurationError(fmt::format("{} is \"{}\"; expected {}", name, text, expected));
  };
}

template <class O>
Setter<O> path(std::optional<std::filesystem::path> O::*field, const char* what) {
  return [=](O& options, std::string_view name, const std::string& text) {
    if (text.empty()) {
      throw ConfigurationError(fmt::format("{} is empty; expected {}", name, what));
    }
    options.*field = text;
  };
}

/// `256,512`, or `none`.
template <class O>
Setter<O> integers(std::vector<std::int64_t> O::*field, std::int64_t least, std::int64_t most) {
  return [=](O& options, std::string_view name, const std::string& text) {
    std::vector<std::int64_t> values;
    try {
      for (std::size_t begin = 0; text != "none" && begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        values.push_back(parse_integer(name, text.substr(begin, comma - begin), least, most));
        begin = comma + 1;
      }
    } catch (const ConfigurationError&) {
      throw ConfigurationError(
          fmt::format("{} is \"{}\"; expected whole numbers from {} to {} with commas between, or "
                      "none",
                      name, text, least, most));
    }
    options.*field = values;
  };
}

/// What every command that trains takes: `O` has the fields `seed`, `devices`, `data`,
/// `memory_limit` and `deadline`.
template <class O>
Setters<O> session_setters() {
  return {
      {"--seed",
       [](O& options, std::string_view name, const std::string& text) {
         options.seed = static_cast<std::uint64_t>(parse_integer(name, text, 0));
       }},
      {"--devices",
       [](O& options, std::string_view name, const std::string& text) {
         options.devices = static_cast<int>(parse_integer(name, text, 1, 4096));
       }},
      {"--data", path(&O::data, "a folder")},
      {"--memory-limit",
       [](O& options, std::string_view name, const std::string& text) {
         options.memory_limit = parse_bytes(name, text);
       }},
      {"--deadline",
       [](O& options, std::string_view name, const std::string& text) {
         const double seconds = parse_number(name, text, 0.001, 1e6);
         options.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
       }},
  };
}

/// \throws ConfigurationError if there is no such option or its text is not allowed.
template <class O>
void set_option(const Setters<O>& setters, O& options, std::string_view name,
                const std::string& text) {
  const auto found = setters.find(name);
  if (found == setters.end()) {
    throw ConfigurationError(fmt::format("there is no option {}", name));
  }
  found->second(options, name, text);
}

}  // namespace kolam::app
