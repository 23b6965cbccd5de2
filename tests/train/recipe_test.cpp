#include "weft/train/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"

namespace weft::train {
namespace {

using testing::HasSubstr;

constexpr const char* minimal = R"([task]
name = "language_model"

[data]
file = "text.txt"

[train]
steps = 10
)";

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_recipe(text, "r.toml", overrides);
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Recipe, HasTheDefaultsOfItsStructs) {
  const Recipe recipe = parse_recipe(minimal, "r.toml");
  EXPECT_EQ(recipe.train.steps, 10);
  EXPECT_EQ(recipe.train.batch_size, 32);
  EXPECT_EQ(recipe.data.context, 1024);  // model.max_length
  EXPECT_EQ(recipe.model.d_ff, 1024);    // resolved
  EXPECT_EQ(recipe.model.vocab_size, 0);
  EXPECT_EQ(recipe.tokenizer.kind, TokenizerKind::character);
}

TEST(Recipe, OverridesAreTomlValuesOrPlainWords) {
  const Recipe recipe =
      parse_recipe(minimal, "r.toml",
                   std::vector<std::string>{"train.steps=200", "train.precision=bf16", "optimizer.beta2=0.99",
                                            "data.file=other/text file.txt", "model.wiring=\"post_norm\"",
                                            "model.final_norm=false", "optimizer.weight_decay=1", "train.steps=300"});
  EXPECT_EQ(recipe.train.steps, 300);  // the last word counts
  EXPECT_EQ(recipe.train.precision, Precision::bf16);
  EXPECT_EQ(recipe.optimizer.beta2, 0.99);
  EXPECT_EQ(recipe.optimizer.weight_decay, 1.0);
  EXPECT_EQ(recipe.data.file, "other/text file.txt");
  EXPECT_FALSE(recipe.model.final_norm);
}

TEST(Recipe, WrittenAndReadBackIsTheSame) {
  const std::vector<std::string> overrides = {"data.file='a\"b\\c.txt'",
                                              "optimizer.learning_rate=3.3e-7",
                                              "train.precision=bf16",
                                              "schedule.name=cosine_epochs",
                                              "model.positions=rotary",
                                              "model.activation=silu",
                                              "model.gated=true",
                                              "train.epochs=3",
                                              "schedule.minimum=1e-9",
                                              "model.initial_deviation=0.1",
                                              "train.clip_norm=0.30000000001",
                                              "optimizer.decay=all",
                                              "tokenizer.kind=word",
                                              "tokenizer.words=12"};
  const Recipe recipe = parse_recipe(minimal, "r.toml", overrides);
  const std::string text = format_recipe(recipe);
  const Recipe again = parse_recipe(text, "resolved.toml");
  EXPECT_EQ(format_recipe(again), text);
  EXPECT_TRUE(again == recipe);
  EXPECT_EQ(again.data.file, "a\"b\\c.txt");
  EXPECT_EQ(again.optimizer.learning_rate, 3.3e-7);
  EXPECT_EQ(again.model.wiring, recipe.model.wiring);
  EXPECT_THAT(text, HasSubstr("rotary_dim = 32\n"));
  EXPECT_FALSE(again == parse_recipe(minimal, "r.toml"));
}

TEST(Recipe, EveryShippedRecipeReads) {
  const std::filesystem::path folder = std::filesystem::path(WEFT_SOURCE_DIR) / "recipes";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Recipe recipe = read_recipe(entry.path());
    EXPECT_TRUE(parse_recipe(format_recipe(recipe), "resolved") == recipe) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 6);
}

struct Broken {
  std::string text;  // of the recipe
  std::string message;
  std::vector<std::string> overrides{};
};

const std::string base = minimal;  // eight lines

const Broken broken[] = {
    {"", "r.toml: train: expected steps or epochs (or both: whichever ends first), got neither"},
    {"[train\nsteps = 1", "r.toml:1, column 7: not TOML"},
    {"[train]\nsteps = ", "r.toml:2"},
    {"[train]\nsteps = 1\nsteps = 2", "r.toml:3"},
    {"steps = 3", "r.toml:1: steps: expected a table such as [train] around every key, got a value"},
    {base + "[trian]\n", "r.toml:9: [trian]: there is no such table; did you mean \"train\"?"},
    {base + "[extras]\n", "[extras]: there is no such table; known: task, data"},
    {base + "bach_size = 4\n", "r.toml:9: train.bach_size: there is no such key; did you mean \"batch_size\"?"},
    {base + "[model]\nlayer = 4\n", "r.toml:10: model.layer: there is no such key; did you mean \"layers\"?"},
    {base + "batch_size = \"4\"\n", "r.toml:9: train.batch_size: expected a whole number, 1 to 1000000, got \"4\""},
    {base + "batch_size = 4.5\n", "train.batch_size: expected a whole number, 1 to 1000000, got 4.5"},
    {base + "batch_size = 0\n", "train.batch_size: expected a whole number, 1 to 1000000, got 0"},
    {base + "seed = -1\n", "train.seed: expected a whole number, 0 or more, got -1"},
    {base + "epochs = [1, 2]\n", "train.epochs: expected a whole number, 0 or more, got a list"},
    {base + "seed = 99999999999999999999\n", "r.toml:9"},
    {base + "clip_norm = nan\n", "train.clip_norm: expected a number, 0 or more, got not a number"},
    {base + "clip_norm = true\n", "train.clip_norm: expected a number, 0 or more, got true"},
    {base + "label_smoothing = 1.0\n", "train.label_smoothing: expected a number in [0, 1), got 1"},
    {base + "precision = \"f16\"\n", "train.precision: expected one of f32, bf16, got \"f16\"; did you mean \"bf16\"?"},
    {base + "precision = 32\n", "train.precision: expected one of f32, bf16, got 32"},
    {base + "keep_checkpoints = 0\n", "train.keep_checkpoints: expected a whole number, 1 or more, got 0"},
    {base + "[optimizer]\nlearning_rate = 0\n", "r.toml:10: optimizer.learning_rate: expected a number above 0, got 0"},
    {base + "[optimizer]\nbeta1 = 1\n", "optimizer.beta1: expected a number in [0, 1), got 1"},
    {base + "[optimizer]\ndecay = \"none\"\n", "optimizer.decay: expected one of matrices, all, got \"none\""},
    {base + "[schedule]\nname = \"cosin\"\n",
     "schedule.name: expected one of constant, cosine, cosine_epochs, inverse_sqrt, got \"cosin\"; did you mean "
     "\"cosine\"?"},
    {base + "[schedule]\nname = \"inverse_sqrt\"\n",
     "schedule.warmup_steps: expected 1 or more for inverse_sqrt, got 0"},
    {base + "[schedule]\nminimum = 0.1\n", "schedule.minimum: expected at most optimizer.learning_rate 0.001, got 0.1"},
    {base + "[tokenizer]\nkind = \"char\"\n", "tokenizer.kind: expected one of character, byte, word, bpe"},
    {base + "[tokenizer]\nvocab_size = 100\n", "tokenizer.vocab_size: only for the kinds bpe"},
    {base + "[tokenizer]\npath = \"a\"\nkind = \"bpe\"\n", "tokenizer.kind: there is no such key"},
    {base + "[tokenizer]\nwords = 10\n", "tokenizer.words: only for kind = \"word\""},
    {base + "[model]\nvocab_size = 65\n", "model.vocab_size: the task and its tokenizer decide that"},
    {base + "[model]\nwiring = \"prenorm\"\n",
     "r.toml:10: [model]: wiring: there is no \"prenorm\"; did you mean \"pre_norm\"?"},
    {base + "[model]\nwiring = 3\n", "r.toml:10: model.wiring: expected a text, got 3"},
    {base + "[model]\nlayers = 2.0\n", "model.layers: expected a whole number, got 2"},
    {base + "[model]\ngated = 1\n", "model.gated: expected true or false, got 1"},
    {base + "[model]\ndropout = \"none\"\n", "model.dropout: expected a number, got \"none\""},
    {base + "[model]\ndropout = 1.5\n", "r.toml:9: model.dropout: expected a probability in [0, 1), got 1.5"},
    {base + "[model]\nd_model = 250\n", "r.toml:9: model: d_model 250 is not a multiple of heads 8"},
    {base + "[model]\nrotary_base = {a = 1}\n", "model.rotary_base: expected a number, got a table"},
    {"[train]\nsteps = 1\n", "r.toml: data.file: expected the path of a text file, got nothing"},
    {"[data]\nfile = \"\"\n[train]\nsteps = 1\n", "r.toml:2: data.file: expected a text that is not empty, got \"\""},
    {"[data]\nfile = 1979-05-27\n[train]\nsteps = 1\n",
     "data.file: expected a text that is not empty, got a date or time"},
    {"[data]\nfile = \"a\"\ncontext = 2000\n[train]\nsteps = 1\n",
     "data.context: expected at most model.max_length 1024, got 2000"},
    {"[data]\nfile = \"a\"\nsamples = 5\n[train]\nsteps = 1\n",
     "r.toml:3: data.samples: there is no such key; known: file"},
    {"[task]\nname = \"count\"\n[data]\nfile = \"a\"\n[train]\nsteps = 1\n",
     "data.file: there is no such key; known: numbers"},
    {"[task]\nname = \"count\"\n[tokenizer]\nkind = \"byte\"\n[train]\nsteps = 1\n",
     "tokenizer: the tasks of the notes have their own, of kind \"word\"; leave the table out"},
    {"[task]\nname = \"counting\"\n", "task.name: expected one of language_model, count, rank, bert, got \"counting\""},
    {base,
     "--set train.steps=many: train.steps: expected a whole number, 0 or more, got \"many\"",
     {"train.steps=many"}},
    {base, "--set train.stepz=4: train.stepz: there is no such key; did you mean \"steps\"?", {"train.stepz=4"}},
    {base, "--set trian.steps=4: [trian]: there is no such table; did you mean \"train\"?", {"trian.steps=4"}},
    {base, "--set steps=4: expected table.key=value, such as train.steps=200", {"steps=4"}},
    {base, "--set train.steps: expected table.key=value", {"train.steps"}},
    {base, "--set train.steps=: expected table.key=value with a TOML value, got the value nothing", {"train.steps="}},
    {base, "--set train.steps=[1: expected table.key=value with a TOML value, got the value [1", {"train.steps=[1"}},
    {base, "expected one value, got several lines", {"train.steps=1\ntrain.seed=2"}},
};

TEST(Recipe, ABrokenOneSaysWhatAndWhere) {
  for (const Broken& recipe : broken) EXPECT_THAT(error_of(recipe.text, recipe.overrides), HasSubstr(recipe.message));
}

TEST(Recipe, DeepNestingAndLongValuesAreRefusedInAFewWords) {
  EXPECT_THAT(error_of("[train]\nsteps = " + std::string(100000, '[')), HasSubstr("not TOML"));
  EXPECT_LT(error_of(std::string(minimal) + "precision = \"" + std::string(100000, 'x') + "\"\n").size(), 300u);
}

TEST(Recipe, AFileThatIsMissingOrTooLongIsAnIoError) {
  EXPECT_THAT([] { read_recipe("/nowhere/r.toml"); }, testing::ThrowsMessage<IoError>(HasSubstr("/nowhere/r.toml")));
}

TEST(FindDataFile, SeenFromHereOrFromAboveTheRecipe) {
  const testing_support::TemporaryFolder folder;
  const std::filesystem::path& root = folder.path();
  make_folders(root / "recipes");
  make_folders(root / "data");
  write_file_atomically(root / "data/a.txt", "text");
  EXPECT_EQ(find_data_file("data/a.txt", root / "recipes/r.toml"), (root / "data/a.txt").lexically_normal());
  EXPECT_EQ(find_data_file((root / "data/a.txt").string(), "elsewhere/r.toml"),
            (root / "data/a.txt").lexically_normal());
  EXPECT_THAT(
      [&] { find_data_file("data/b.txt", root / "recipes/r.toml"); },
      testing::ThrowsMessage<IoError>(testing::AllOf(HasSubstr("data.file \"data/b.txt\": no such file"),
                                                     HasSubstr((root / "data/b.txt").lexically_normal().string()))));
}

TEST(RequireResumable, AllowsTheRunToChangeButNotTheModel) {
  const Recipe before = parse_recipe(minimal, "r.toml");
  const auto with = [](const std::string& override) {
    return parse_recipe(minimal, "r.toml", std::vector<std::string>{override});
  };
  for (const char* fine : {"train.steps=400", "data.file=moved.txt", "optimizer.learning_rate=1e-5",
                           "train.precision=bf16", "schedule.name=cosine", "train.checkpoint_every=7"}) {
    EXPECT_NO_THROW(require_resumable(before, with(fine))) << fine;
  }
  EXPECT_THAT([&] { require_resumable(before, with("model.layers=2")); },
              testing::ThrowsMessage<Error>(HasSubstr(
                  "resume: [model] cannot change during a run: it has `layers = 6`, and `layers = 2` was asked for")));
  for (const char* wrong : {"train.seed=5", "train.batch_size=5", "train.gradient_accumulation=5", "data.context=5",
                            "tokenizer.kind=byte", "data.validation_share=0.5"}) {
    EXPECT_THROW(require_resumable(before, with(wrong)), Error) << wrong;
  }
}

}  // namespace
}  // namespace weft::train
