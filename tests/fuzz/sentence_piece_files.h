#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/dice.h"

namespace weft::fuzz {

// Small SentencePiece models, with a character map and without, of every model type.
std::vector<std::string> small_models();

// A change or a few of a model's fields, as a protocol buffer has them, so that what is around them stays readable.
std::string mutate_message(const std::string& model, const std::string& other, Dice& dice, size_t longest);

}  // namespace weft::fuzz
