#include "weft/text/pipeline_tokenizer.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/text/hash.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

constexpr size_t most_elements = 500;        // of one stage; published pipelines have up to about ten
constexpr size_t most_post_processors = 16;  // which see every window

size_t count_elements(const Json& value) {
  size_t count = value.is_object() && value.contains("type") ? 1 : 0;
  if (!value.is_structured()) return count;
  for (const Json& member : value) count += count_elements(member);
  return count;
}

// A text goes through every element: their number bounds the work.
const JsonView& require_few_elements(const JsonView& stage, size_t most = most_elements) {
  if (count_elements(stage.value()) > most) fail<FormatError>("{}: expected at most {} elements", stage.place(), most);
  return stage;
}

}  // namespace

PipelineTokenizer::PipelineTokenizer(Json document, std::string source, const SpecialNames& roles)
    : source_(std::move(source)) {
  const JsonView root(document, source_);
  root.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                   "decoder", "model"});
  if (root.get_or<std::string>("version", "1.0") != "1.0") root.at("version").expected("\"1.0\"");
  read_parts(root);
  read_roles(roles);
  document["model"].erase("vocab");
  document["model"].erase("merges");
  description_ = std::move(document);
}

void PipelineTokenizer::read_parts(const JsonView& root) {
  if (root.has("truncation")) default_options_.truncation = read_truncation(root.at("truncation"));
  if (root.has("padding")) default_options_.padding = read_padding(root.at("padding"));
  if (root.has("normalizer")) normalizer_ = make_normalizer(require_few_elements(root.at("normalizer")));
  if (root.has("pre_tokenizer")) pre_tokenizer_ = make_pre_tokenizer(require_few_elements(root.at("pre_tokenizer")));
  if (root.has("post_processor")) {
    post_processor_ = make_post_processor(require_few_elements(root.at("post_processor"), most_post_processors));
  }
  if (root.has("decoder")) decoder_ = make_decoder(require_few_elements(root.at("decoder")));
  model_ = make_token_model(root.at("model"));
  if (root.has("added_tokens")) added_ = AddedTokens(root.at("added_tokens"), *model_, normalizer_.get());
  vocab_size_ = model_->vocabulary().id_end();
  for (const AddedToken& token : added_.tokens()) vocab_size_ = std::max(vocab_size_, token.id + 1);
}

void PipelineTokenizer::read_roles(const SpecialNames& roles) {
  const auto id_of = [&](const std::optional<std::string>& name) -> std::optional<int32_t> {
    return name ? find(*name) : std::nullopt;
  };
  special_ = {.bos = id_of(roles.bos), .eos = id_of(roles.eos), .pad = id_of(roles.pad), .unk = id_of(roles.unk)};
  if (!special_.unk) special_.unk = model_->unknown_id();
}

Json PipelineTokenizer::document() const {
  Json document = description_;
  model_->write_vocabulary(document["model"]);
  return document;
}

// Gives pieces to the model, by way of the cache where it may be used.
class PipelineTokenizer::PieceEncoder {
 public:
  PieceEncoder(const PipelineTokenizer& tokenizer, const Pieces& pieces)
      : tokenizer_(tokenizer),
        pieces_(pieces),
        cache_(tokenizer.model_->is_deterministic() ? tokenizer.caches_.take() : nullptr) {}
  ~PieceEncoder() {
    if (cache_) tokenizer_.caches_.give_back(std::move(cache_));
  }

  // The tokens of piece `index`, valid until the next call.
  const std::vector<PieceToken>& tokens(size_t index) {
    const Piece& piece = pieces_.list[index];
    const std::string_view view = pieces_.view(piece);
    made_.clear();
    if (piece.token != Piece::open) {
      made_.push_back({piece.token, 0, static_cast<uint32_t>(view.size())});
      return made_;
    }
    if (!cache_ || view.size() > WordCache::longest_piece) {
      tokenizer_.model_->tokenize(view, pieces_.text.budget(), made_);
      return made_;
    }
    if (index < hashed_begin_ || index >= hashed_end_) hash_pieces(index);
    const uint64_t hash = hashes_[index - hashed_begin_];
    if (cache_->find(view, hash, made_)) return made_;
    tokenizer_.model_->tokenize(view, pieces_.text.budget(), made_);
    cache_->put(view, hash, made_);
    return made_;
  }

 private:
  // Hashes some pieces at once, among them `index`, so that the cache fetches their places side by side.
  void hash_pieces(size_t index) {
    const bool backward = index < hashed_begin_;
    hashed_begin_ = backward && index >= hashes_.size() ? index + 1 - hashes_.size() : backward ? 0 : index;
    hashed_end_ = std::min(hashed_begin_ + hashes_.size(), pieces_.list.size());
    for (size_t i = hashed_begin_; i < hashed_end_; ++i) {
      const uint64_t hash = hash_bytes(pieces_.view(pieces_.list[i]));
      hashes_[i - hashed_begin_] = hash;
      cache_->fetch(hash);
    }
  }

  const PipelineTokenizer& tokenizer_;
  const Pieces& pieces_;
  std::unique_ptr<WordCache> cache_;
  std::vector<PieceToken> made_;
  std::array<uint64_t, 32> hashes_;  // of pieces [hashed_begin_, hashed_end_)
  size_t hashed_begin_ = 0;
  size_t hashed_end_ = 0;
};

Encoding PipelineTokenizer::encode_text(const EncodeRequest& request) const {
  const bool detailed = request.detail == EncodeDetail::all;
  const bool tracked = detailed || (pre_tokenizer_ && pre_tokenizer_->needs_tracking());
  Pieces pieces = added_.find(AlignedText(request.text, tracked ? Tracking::on : Tracking::off), normalizer_.get());
  if (pre_tokenizer_) pre_tokenizer_->split(pieces);

  PieceEncoder encoder(*this, pieces);
  // The reference gives the model no more pieces than truncation needs and forgets the others, which shows in the
  // windows that are left over. It looks at the count after pieces that the model sees, not after added tokens.
  size_t first = 0;
  size_t end = pieces.list.size();
  if (request.enough && request.kept_end == Side::right) {
    first = end;
    for (size_t count = 0; first > 0;) {
      const Piece& piece = pieces.list[--first];
      count += encoder.tokens(first).size();
      if (piece.token == Piece::open && count >= *request.enough) break;
    }
  } else if (request.enough) {
    for (size_t count = 0, word = 0; word < end; ++word) {
      const Piece& piece = pieces.list[word];
      count += encoder.tokens(word).size();
      if (piece.token == Piece::open && count >= *request.enough) end = word + 1;
    }
  }
  Encoding encoding;
  const size_t expected = (end - first) * 2 + 2;  // a few more than there mostly are, special ones too
  encoding.ids.reserve(expected);
  if (detailed) {
    encoding.tokens.reserve(expected);
    encoding.offsets.reserve(expected);
    encoding.word_ids.reserve(expected);
  }
  size_t name_bytes = 0;
  for (size_t word = first; word < end; ++word) {
    const Piece& piece = pieces.list[word];
    for (const PieceToken& token : encoder.tokens(word)) {
      encoding.ids.push_back(token.id);
      if (!detailed) continue;
      const std::string_view view = pieces.view(piece);
      encoding.tokens.emplace_back(piece.token != Piece::open ? view : model_->shown(token, view));
      pieces.text.budget().allow_size(name_bytes += encoding.tokens.back().size());
      encoding.offsets.push_back(pieces.text.origin(piece.begin + token.begin, piece.begin + token.end));
      encoding.word_ids.push_back(static_cast<int32_t>(word - first));
    }
  }
  if (request.detail == EncodeDetail::ids) return encoding;
  const auto fill = [&](std::vector<int32_t>& values, int32_t value) {
    values.reserve(encoding.size() + 2);
    values.assign(encoding.size(), value);
  };
  fill(encoding.type_ids, request.type_id);
  fill(encoding.attention_mask, 1);
  fill(encoding.special_tokens_mask, 0);
  return encoding;
}

std::string PipelineTokenizer::decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  size_t bytes = 0;
  for (const int32_t id : ids) {
    const AddedToken* added = added_.by_id(id);
    const auto name = added != nullptr ? std::optional<std::string_view>(added->shown) : model_->vocabulary().name(id);
    if (!name || (special == SpecialTokens::skip && added_.is_special(*name))) continue;
    tokens.emplace_back(*name);
    bytes += name->size();
    require_decodable(bytes, ids.size());
  }
  if (decoder_) {
    TextBudget budget(bytes);
    decoder_->decode(tokens, budget);
  }
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!decoder_ && i > 0) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::string PipelineTokenizer::token(int32_t id) const {
  if (const AddedToken* added = added_.by_id(id)) return added->content;
  require(id >= 0 && id < vocab_size_, "tokenizer: no token {}, ids run from 0 to {}", id, vocab_size_ - 1);
  return std::string(model_->vocabulary().name(id).value_or(""));
}

std::optional<int32_t> PipelineTokenizer::find(std::string_view token) const {
  if (const auto id = added_.find_id(token)) return id;
  return model_->vocabulary().find(token);
}

}  // namespace weft::text
