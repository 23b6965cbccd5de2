#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/dice.h"
#include "weft/base/json.h"

namespace weft::fuzz {

// Small tokenizer.json documents that have every element of the format somewhere: the fixtures of the tests with their
// vocabularies cut down, and some that are written to be hard.
std::vector<Json> small_documents();

// A change or a few in the structure of a document: values made extreme, members moved, taken out, repeated, nested,
// put in from one of `donors`.
Json mutate_document(Json document, const std::vector<Json>& donors, Dice& dice);

}  // namespace weft::fuzz
