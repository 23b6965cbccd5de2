#include "tests/fuzz/documents.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "tests/fuzz/mutation.h"
#include "weft/base/files.h"
#include "weft/text/utf8.h"

namespace weft::fuzz {

namespace {

namespace fs = std::filesystem;

constexpr size_t kept_tokens = 60;
constexpr size_t most_nodes = 4000;

// The first tokens by id, and the merges that need no others.
void cut_down(Json& model) {
  Json& vocab = model["vocab"];
  if (vocab.is_array()) {
    if (vocab.size() > kept_tokens) vocab.erase(vocab.begin() + kept_tokens, vocab.end());
    return;
  }
  Json kept = Json::object();
  for (const auto& [name, id] : vocab.items()) {
    if (id.get<size_t>() < kept_tokens) kept[name] = id;
  }
  vocab = std::move(kept);
  if (!model.contains("merges")) return;
  Json merges = Json::array();
  for (const Json& merge : model["merges"]) {
    const auto line =
        merge.is_string() ? merge.get<std::string>() : merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    const size_t blank = line.find(' ');
    const std::string left = line.substr(0, blank);
    const std::string right = line.substr(blank + 1);
    if (vocab.contains(left) && vocab.contains(right) && vocab.contains(left + right)) merges.push_back(merge);
  }
  model["merges"] = std::move(merges);
}

// One of everything that the fixtures have nothing of, around a vocabulary that is easy to hit.
std::vector<Json> written_documents() {
  const Json elements = Json::parse(R"json([
    {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                    {"type": "Strip", "strip_left": true, "strip_right": false}, {"type": "Nmt"}, {"type": "NFKC"},
                    {"type": "Prepend", "prepend": "▁"}, {"type": "NFKD"}, {"type": "NFC"}, {"type": "ByteLevel"},
                    {"type": "Replace", "pattern": {"Regex": "\\s+|(?=a)"}, "content": "ab"
}]
}
},
    {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"},
     "decoder": {"type": "Replace", "pattern": {"Regex": "a|"}, "content": "aaaaaaaa"}},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "MergedWithNext"},
                       {"type": "Digits", "individual_digits": true}, {"type": "CharDelimiterSplit", "delimiter": "e"},
                       {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true},
                       {"type": "Split", "pattern": {"Regex": "(a*)*b|[^\\s&&\\w]"}, "behavior": "Contiguous",
                        "invert": true}]}},
    {"post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": true,
                        "trim_offsets": true}, {"type": "BertProcessing", "sep": ["[S]", 2], "cls": ["[C]", 1]}]}},
    {"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
                 {"type": "Strip", "content": " ", "start": 1, "stop": 2}, {"type": "BPEDecoder", "suffix": "a"},
                 {"type": "WordPiece", "prefix": "a", "cleanup": true}, {"type": "Metaspace", "replacement": "▁"}]}},
    {"truncation": {"max_length": 3, "stride": 1, "strategy": "OnlyFirst", "direction": "Left"},
     "padding": {"strategy": {"Fixed": 12}, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0,
                 "pad_type_id": 0, "pad_token": "x"}},
    {"added_tokens": [{"id": 9, "content": "ab", "lstrip": true, "rstrip": true, "single_word": false,
                       "normalized": true, "special": false},
                      {"id": 10, "content": "b", "single_word": true, "special": true, "normalized": false}]}])json");
  std::vector<Json> documents;
  for (const Json& element : elements) {
    Json document = Json::parse(R"({"version": "1.0", "model": {"type": "BPE", "unk_token": "a", "dropout": 0.1,
        "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": true, "byte_fallback": true,
        "vocab": {"a": 0, "b": 1, "ab": 2, "<0x41>": 3, "▁": 4, " ": 5, "aa": 6}, "merges": ["a b", "a a"]}})");
    document.update(element);
    documents.push_back(std::move(document));
    documents.push_back(documents.back());
    documents.back()["model"] = Json::parse(R"({"type": "Unigram", "unk_id": 0, "byte_fallback": false,
        "vocab": [["u", 0.0], ["a", -1.5], ["ab", -2], ["▁", -3], ["b", -1e300]]})");
  }
  return documents;
}

void collect(Json& value, std::vector<Json*>& nodes) {
  if (nodes.size() >= most_nodes) return;
  nodes.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& member : value) collect(member, nodes);
}

std::vector<Json*> nodes_of(Json& document) {
  std::vector<Json*> nodes;
  for (auto& [key, value] : document.items()) {
    if (key == "model") continue;
    collect(value, nodes);
  }
  if (document.contains("model")) collect(document["model"], nodes);
  if (nodes.empty()) nodes.push_back(&document);
  return nodes;
}

Json extreme_value(Dice& dice) {
  constexpr std::array<std::string_view, 24> values = {"null",
                                                       "true",
                                                       "false",
                                                       "-1",
                                                       "0",
                                                       "1",
                                                       "2",
                                                       "1000",
                                                       "65536",
                                                       "2147483647",
                                                       "2147483648",
                                                       "4294967296",
                                                       "9223372036854775807",
                                                       "18446744073709551615",
                                                       "-9223372036854775808",
                                                       "1e308",
                                                       "-1e308",
                                                       "0.5",
                                                       "\"\"",
                                                       "\"a\"",
                                                       "[]",
                                                       "{}",
                                                       "[[]]",
                                                       "\"\\u0000\""};
  return Json::parse(dice.one_of(values));
}

std::string hard_string(Dice& dice) {
  constexpr std::array<std::string_view, 18> strings = {"(a+)+$",
                                                        "(a|aa)*c",
                                                        "(?:a?){30}a{30}",
                                                        "((a{1,100}){1,100})",
                                                        "\\p{L}+|\\s",
                                                        "(?=a)*",
                                                        "[^a]*?",
                                                        "(?<=a)b",
                                                        "\\b",
                                                        "()",
                                                        "a||b",
                                                        "[a-\\w]",
                                                        "(?i)\u017f",
                                                        "\\K",
                                                        "\u0301",
                                                        "\U0001f468\u200d",
                                                        "[[:alpha:]&&[^a]]",
                                                        "(\\1a|b)*"};
  if (dice.one_in(8)) return std::string(dice.below(3000), dice.one_in(2) ? 'a' : '(');
  return std::string(dice.one_of(strings));
}

// A value that has the same key somewhere in a donor, so that elements go where elements are read.
void graft(Json& document, const Json& donor, Dice& dice) {
  if (!document.is_object() || !donor.is_object() || donor.empty()) return;
  auto place = donor.begin();
  std::advance(place, dice.below(donor.size()));
  document[place.key()] = place.value();
}

void wrap(Json& document, Dice& dice) {
  struct Wrapper {
    const char* key;
    const char* list;
  };
  constexpr std::array<Wrapper, 4> wrappers = {{{"normalizer", "normalizers"},
                                                {"pre_tokenizer", "pretokenizers"},
                                                {"post_processor", "processors"},
                                                {"decoder", "decoders"}}};
  const Wrapper& wrapper = wrappers[dice.below(wrappers.size())];
  if (!document.is_object() || !document.contains(wrapper.key) || !document[wrapper.key].is_object()) return;
  Json& element = document[wrapper.key];
  const uint64_t depth = dice.one_in(8) ? dice.below(70) : 1;
  for (uint64_t i = 0; i < depth; ++i) {
    Json list = Json::array({element});
    if (dice.one_in(depth)) list.push_back(element);
    element = {{"type", "Sequence"}, {wrapper.list, std::move(list)}};
  }
}

void change_value(Json& value, Dice& dice) {
  if (value.is_string() && dice.one_in(2)) {
    value = text::repair_utf8(mutate_bytes(value.get<std::string>(), "", dice, 10000));
  } else if (value.is_string()) {
    value = hard_string(dice);
  } else if (value.is_number_integer() && dice.one_in(2)) {
    value = static_cast<int64_t>(value.get<uint64_t>() + dice.below(5) - 2);
  } else if (value.is_boolean()) {
    value = !value.get<bool>();
  } else {
    value = extreme_value(dice);
  }
}

void change_list(Json& value, Dice& dice) {
  const size_t place = dice.below(value.size());
  auto entry = value.begin();
  std::advance(entry, place);
  if (dice.one_in(2)) {
    value.erase(entry);
  } else if (value.is_array()) {
    const Json copy = *entry;
    const uint64_t times = dice.one_in(8) ? 1 + dice.below(40) : 1;
    for (uint64_t i = 0; i < times; ++i) value.insert(value.begin() + static_cast<ptrdiff_t>(place), copy);
  } else {
    value[dice.one_in(2) ? hard_string(dice) : std::string("type")] = *entry;
  }
}

}  // namespace

std::vector<Json> small_documents() {
  std::vector<Json> documents = written_documents();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers")) {
    if (fs::exists(entry.path() / "tokenizer.json")) files.push_back(entry.path() / "tokenizer.json");
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    documents.push_back(parse_json(read_file(file), file.string()));
    cut_down(documents.back()["model"]);
    // A published character map is long, and mutation would spend its time there.
    if (documents.back().dump().size() > 30000) documents.pop_back();
  }
  return documents;
}

Json mutate_document(Json document, const std::vector<Json>& donors, Dice& dice) {
  const uint64_t changes = uint64_t{1} << dice.below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    const std::vector<Json*> nodes = nodes_of(document);
    Json& node = *nodes[dice.below(nodes.size())];
    switch (dice.below(5)) {
      case 0:
        graft(document, dice.one_of(donors), dice);
        break;
      case 1:
        wrap(document, dice);
        break;
      case 2:
        if (node.is_structured() && !node.empty()) change_list(node, dice);
        break;
      case 3:
        node = extreme_value(dice);
        break;
      default:
        change_value(node, dice);
    }
  }
  return document;
}

}  // namespace weft::fuzz
