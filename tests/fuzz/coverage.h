#pragma once

#include <cstdint>

namespace weft::fuzz {

// How many places of weft/text have run at least once since the program began.
uint64_t places_reached();

}  // namespace weft::fuzz
