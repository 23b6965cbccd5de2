#include <array>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/text/forms/documents.h"
#include "weft/text/forms/marian.h"
#include "weft/text/forms/sentence_piece.h"
#include "weft/text/limits.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/special_names.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/tokenizer_layout.h"

namespace weft::text {

namespace {

namespace fs = std::filesystem;

Json parse_file(const fs::path& path) { return parse_json(read_file(path, longest_file), path.string()); }

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_own(const fs::path& config) {
  if (!file_exists(config)) return false;
  const Json document = parse_file(config);
  return JsonView(document, config.string()).get_or<bool>(own_kind_key, false);
}

std::unique_ptr<Tokenizer> load_json(const fs::path& path) {
  Json document = parse_file(path);
  const SpecialNames roles = read_special_names(path.parent_path());
  if (is_own(path.parent_path() / "tokenizer_config.json")) {
    return load_own_tokenizer(JsonView(document, path.string()), roles);
  }
  return std::make_unique<PipelineTokenizer>(std::move(document), path.string(), roles);
}

std::unique_ptr<Tokenizer> load_merges(const fs::path& folder) {
  SpecialNames roles = read_special_names(folder);
  if (!roles.eos) roles.eos = "<|endoftext|>";
  if (!roles.bos) roles.bos = roles.eos;
  const fs::path vocab = folder / "vocab.json";
  return std::make_unique<PipelineTokenizer>(document_of_merges(vocab, folder / "merges.txt"), vocab.string(), roles);
}

std::unique_ptr<Tokenizer> load_vocab_txt(const fs::path& path) {
  SpecialNames roles = read_special_names(path.parent_path());
  if (!roles.pad) roles.pad = "[PAD]";
  if (!roles.unk) roles.unk = "[UNK]";
  return std::make_unique<PipelineTokenizer>(document_of_vocab_txt(path), path.string(), roles);
}

std::unique_ptr<Tokenizer> load_sentence_piece(const fs::path& path) {
  return std::make_unique<SentencePieceTokenizer>(
      SentencePieceTokenizer::read(path, read_special_names(path.parent_path())));
}

std::unique_ptr<Tokenizer> load_folder(const fs::path& folder) {
  if (file_exists(folder / "tokenizer.json")) return load_json(folder / "tokenizer.json");
  if (file_exists(folder / "source.spm")) return std::make_unique<MarianTokenizer>(folder);
  if (file_exists(folder / "merges.txt")) return load_merges(folder);
  if (file_exists(folder / "vocab.txt")) return load_vocab_txt(folder / "vocab.txt");
  for (const char* name : {"spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "sentencepiece.model"}) {
    if (file_exists(folder / name)) return load_sentence_piece(folder / name);
  }
  return load_json(folder / "tokenizer.json");  // says that it is missing
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return load_folder(path);
  if (path.extension() == ".model" || path.extension() == ".spm") return load_sentence_piece(path);
  if (path.filename() == "merges.txt") return load_merges(path.parent_path());
  if (path.filename() == "vocab.json" && file_exists(path.parent_path() / "merges.txt")) {
    return load_merges(path.parent_path());
  }
  if (path.extension() == ".txt") return load_vocab_txt(path);
  return path.extension() == ".json" ? load_json(path) : load_folder(path);
}

}  // namespace weft::text
