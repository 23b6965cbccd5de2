#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <array>

namespace weft::fuzz {

namespace {

size_t place_in(const std::string& text, Dice& dice) { return dice.below(text.size() + 1); }

void overwrite(std::string& text, size_t place, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size() && place + i < text.size(); ++i) text[place + i] = bytes[i];
}

void put_extreme_number(std::string& text, Dice& dice) {
  constexpr std::array<std::string_view, 8> numbers = {"\xff\xff\xff\xff\x0f",
                                                       "\xff\xff\xff\xff",
                                                       "\x80\x80\x80\x80\x08",
                                                       "\x7f\xff\xff\xff",
                                                       "\xff\x7f",
                                                       "\x80\x01",
                                                       "\x01\x80",
                                                       "4294967296"};
  overwrite(text, place_in(text, dice), dice.one_of(numbers));
}

void change_once(std::string& text, std::string_view other, Dice& dice) {
  const size_t place = place_in(text, dice);
  const size_t length = 1 + dice.below(dice.one_in(4) ? 64 : 4);
  switch (dice.below(7)) {
    case 0:
      if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << dice.below(8)));
      return;
    case 1:
      if (place < text.size()) text[place] = static_cast<char>(dice.below(256));
      return;
    case 2:
      text.insert(place, length, static_cast<char>(dice.below(256)));
      return;
    case 3:
      text.erase(place, length);
      return;
    case 4:
      text.insert(place_in(text, dice), text.substr(place, length));
      return;
    case 5:
      put_extreme_number(text, dice);
      return;
    default:
      if (!other.empty()) text.insert(place, other.substr(dice.below(other.size()), length * 4));
  }
}

}  // namespace

std::string mutate_bytes(std::string input, std::string_view other, Dice& dice, size_t longest) {
  const uint64_t changes = uint64_t{1} << dice.below(5);
  for (uint64_t i = 0; i < changes; ++i) change_once(input, other, dice);
  if (input.size() > longest) input.resize(longest);
  return input;
}

}  // namespace weft::fuzz
