#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/dice.h"

namespace weft::fuzz {

// A property that must hold does not.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// What is fed with made-up input.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::vector<std::string> seeds() const = 0;
  // A new input made of one that is known, and perhaps of another.
  virtual std::string mutate(const std::string& input, const std::string& other, Dice& dice) const = 0;
  // weft::Error refuses the input, which is well. Finding and any other exception are findings.
  virtual void run(std::string_view input) const = 0;
};

std::unique_ptr<Target> tokenizer_json_target();
std::unique_ptr<Target> model_target();
std::unique_ptr<Target> text_target();

}  // namespace weft::fuzz
