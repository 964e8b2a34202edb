/// \file
/// How figures look on the terminal: independent of the locale, 80 columns, plain ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../report/document.hpp"

namespace kolam::app {

/// `60,000`.
std::string with_thousands(std::int64_t value);
/// `3,622` from 100 on, `36.2` from 10 on, `3.62` below.
std::string short_number(double value);
/// `512.0 MiB`.
std::string bytes_text(double bytes);

std::string text_of(const Table& table);
std::string text_of(const List& list);
std::string text_of(const Bars& bars);
std::string text_of(const Plot& plot);
std::string text_of(const Drawing& drawing);
std::string text_of(const Paragraph& paragraph);

/// Breaks a sentence at spaces, so that no line is longer than `width`.
std::string wrapped(std::string_view sentence, std::size_t width = 80);

/// Whether a cell is aligned as a number.
bool looks_like_a_number(const std::string& cell);

}  // namespace kolam::app
