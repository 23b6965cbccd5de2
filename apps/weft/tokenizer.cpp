#include "apps/weft/tokenizer.h"

#include <map>

#include "apps/weft/commands.h"
#include "weft/base/files.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/tokenizer_layout.h"

namespace weft::app {

std::unique_ptr<text::EncodingTokenizer> load_encoding_tokenizer(const std::string& path) {
  std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(path);
  if (auto* encoding = dynamic_cast<text::EncodingTokenizer*>(tokenizer.get())) {
    tokenizer.release();
    return std::unique_ptr<text::EncodingTokenizer>(encoding);
  }
  const std::string file = text::tokenizer_paths(path).tokenizer.string();
  Json document = parse_json(read_file(file), file);
  document["added_tokens"] = Json::array();
  return std::make_unique<text::PipelineTokenizer>(std::move(document), file);
}

void add_tokenizer_path(CLI::App& command, std::string& path) {
  command
      .add_option(
          "tokenizer", path,
          "tokenizer.json, a model folder, vocab.txt, vocab.json beside merges.txt, a SentencePiece .model, or a "
          "Marian folder")
      ->required();
}

void add_input_format(CLI::App& command, InputFormat& format, const std::string& description) {
  const std::map<std::string, InputFormat> names = {{"text", InputFormat::text}, {"jsonl", InputFormat::jsonl}};
  command.add_option("--input", format, description)
      ->transform(CLI::Transformer(names))
      ->type_name("text|jsonl")
      ->default_str("text");
}

void add_tokenizer(CLI::App& program) {
  CLI::App* command = program.add_subcommand("tokenizer", "Train, use and look at tokenizers");
  command->require_subcommand(1);
  add_tokenizer_train(*command);
  add_tokenizer_encode(*command);
  add_tokenizer_decode(*command);
  add_tokenizer_inspect(*command);
}

}  // namespace weft::app
