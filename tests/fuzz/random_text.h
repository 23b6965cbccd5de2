#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/rng.h"
#include "weft/text/utf8.h"

namespace weft::fuzz {

enum class BadBytes { no, yes };

// Texts that are hard on tokenizers: many scripts, joined emoji, combining marks, control characters, odd spaces, very
// long words, and, if asked for, bytes that are not UTF-8. Text `number` of a seed is the same everywhere.
class RandomText {
 public:
  RandomText(uint64_t seed, uint64_t number, BadBytes bad)
      : rng_(Rng{.seed = seed, .stream = 0}.split(number)), bad_(bad) {}

  std::string make() {
    std::string text;
    const uint64_t parts = below(below(8) == 0 ? 60 : 12);
    for (uint64_t i = 0; i < parts; ++i) add_part(text);
    return text;
  }

 private:
  uint64_t below(uint64_t bound) { return rng_.below(bound, count_++); }

  void add_character(std::string& text) {
    constexpr std::array<std::array<char32_t, 2>, 20> scripts = {
        {{0x20, 0x7e},     {0x20, 0x7e},     {0x61, 0x7a},     {0xa0, 0x17f},      {0x370, 0x3ff},
         {0x400, 0x4ff},   {0x5d0, 0x5ea},   {0x620, 0x64a},   {0x900, 0x97f},     {0xe00, 0xe7f},
         {0xac00, 0xd7a3}, {0x1100, 0x11ff}, {0x3040, 0x30ff}, {0x4e00, 0x9fff},   {0xff00, 0xffef},
         {0x300, 0x36f},   {0x1e00, 0x1eff}, {0x2000, 0x206f}, {0x1f300, 0x1faff}, {0x20000, 0x2a6df}}};
    const auto& [first, last] = scripts[below(scripts.size())];
    text::append_utf8(first + static_cast<char32_t>(below(last - first + 1)), text);
  }

  void add_any_character(std::string& text) {
    const auto value = static_cast<char32_t>(below(below(2) == 0 ? 0x3100 : 0x110000));
    if (value < 0xd800 || value > 0xdfff) text::append_utf8(value, text);
  }

  void add_part(std::string& text) {
    constexpr std::array<std::string_view, 34> nasty = {"\U0001f468\u200d\U0001f469\u200d\U0001f467",
                                                        "\U0001f44d\U0001f3fd",
                                                        "\U0001f1e9\U0001f1ea",
                                                        "e\u0301\u0327",
                                                        "\u00e9",
                                                        "\u1e9e\u00df",
                                                        "\u0130I\u0131i",
                                                        "\ufb01",
                                                        "\u00bd",
                                                        "\u2460",
                                                        "\u00a0",
                                                        "\u3000",
                                                        "\u2003",
                                                        "\u200b",
                                                        "\ufeff",
                                                        "\u0085",
                                                        "\r\n",
                                                        "\t",
                                                        "\n\n",
                                                        "  ",
                                                        "    ",
                                                        "\x01\x02",
                                                        "\x7f",
                                                        "\u00ad",
                                                        "\u202e",
                                                        "\ufffd",
                                                        "'s",
                                                        "don't",
                                                        "[CLS]",
                                                        "<s>",
                                                        "<unk>",
                                                        "\u2581",
                                                        "##ing",
                                                        "<0x0A>"};
    constexpr std::array<std::string_view, 10> bad = {
        "\xff", "\xc0\x80",     "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\x80", "\xf0\x9f\x98", "\xfe",     "\xc3",         "\xf8\x88\x80\x80\x80"};
    constexpr std::array<std::string_view, 8> words = {"the ", "Hello", "world", " of", "ing", "2024", "ROMEO:", "a"};
    switch (below(9)) {
      case 0:
        text += nasty[below(nasty.size())];
        return;
      case 1:
        text += ' ';
        return;
      case 2:
        add_any_character(text);
        return;
      case 3:
        for (uint64_t i = below(12); i > 0; --i) add_character(text);
        return;
      case 4:
        if (below(8) == 0) text.append(below(400), static_cast<char>('a' + below(3)));
        return;
      case 5:
        if (bad_ == BadBytes::yes) text += bad[below(bad.size())];
        return;
      case 6:
        text += '\0';
        text += nasty[below(nasty.size())];
        return;
      default:
        text += words[below(words.size())];
    }
  }

  Rng rng_;
  BadBytes bad_;
  uint64_t count_ = 0;
};

}  // namespace weft::fuzz
