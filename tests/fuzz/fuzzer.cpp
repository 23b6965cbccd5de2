#include "tests/fuzz/fuzzer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "tests/fuzz/coverage.h"
#include "weft/base/error.h"
#include "weft/base/files.h"

namespace weft::fuzz {

namespace {

constexpr int most_seconds_per_input = 60;

// For the handlers below, which may use nothing that allocates.
std::string finding_path;
std::string_view current_input;

void write_finding() {
  const int file = ::open(finding_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  for (std::string_view rest = current_input; !rest.empty();) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  ::close(file);
}

void say(std::string_view text) { [[maybe_unused]] const ssize_t written = ::write(2, text.data(), text.size()); }

void on_death() {
  write_finding();
  say("fuzz: the input is in ");
  say(finding_path);
  say("\n");
}

void on_time_limit(int) {
  say("fuzz: an input took 60 s of processor time\n");
  on_death();
  ::_exit(1);
}

// Processor time, not time on the clock: a busy machine makes no finding.
void set_time_limit(int seconds) {
  const itimerval limit{.it_interval = {0, 0}, .it_value = {seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

// False for a finding.
bool survives(const Target& target, std::string_view input) {
  current_input = input;
  set_time_limit(most_seconds_per_input);
  try {
    target.run(input);
  } catch (const Error&) {
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz: {}\n", error.what());
    on_death();
    return false;
  }
  set_time_limit(0);
  return true;
}

class Corpus {
 public:
  explicit Corpus(std::vector<std::string> inputs) : inputs_(std::move(inputs)) {}
  // What came last is tried most.
  const std::string& pick(Dice& dice) const {
    const size_t newest = std::min<size_t>(inputs_.size(), 20);
    return dice.one_in(2) ? dice.one_of(inputs_) : inputs_[inputs_.size() - 1 - dice.below(newest)];
  }
  void add(std::string input) { inputs_.push_back(std::move(input)); }
  size_t size() const { return inputs_.size(); }
  const std::string& operator[](size_t i) const { return inputs_[i]; }

 private:
  std::vector<std::string> inputs_;
};

void install_handlers(const std::filesystem::path& path) {
  finding_path = path.string();
  __sanitizer_set_death_callback(on_death);
  std::signal(SIGPROF, on_time_limit);
}

}  // namespace

int run_fuzzer(const Target& target, const std::string& name, const FuzzOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::string file = fmt::format("fuzz-{}-{}-{}", name, options.seed, ::getpid());
  install_handlers(std::filesystem::absolute(options.findings) / file);
  Dice dice(options.seed);
  Corpus corpus(target.seeds());
  require(corpus.size() > 0, "fuzz: no seeds for {}", name);
  const size_t seeds = corpus.size();
  uint64_t runs = 0;
  const auto is_over = [&] {
    return (options.runs && runs >= *options.runs) || (options.seconds && passed() >= double(*options.seconds));
  };
  for (; runs < seeds && !is_over(); ++runs) {
    if (!survives(target, corpus[runs])) return 1;
  }
  double next_report = 60;
  for (; !is_over(); ++runs) {
    std::string input = target.mutate(corpus.pick(dice), corpus.pick(dice), dice);
    const uint64_t before = places_reached();
    if (!survives(target, input)) return 1;
    if (places_reached() > before) corpus.add(std::move(input));
    if (passed() < next_report) continue;
    next_report += 60;
    fmt::print("{}: {} runs, {:.0f} s, {} places, {} inputs kept\n", name, runs, passed(), places_reached(),
               corpus.size());
    std::fflush(stdout);
  }
  fmt::print("{}: {} runs without a finding, {:.0f} s, {} places, {} inputs kept of which {} seeds\n", name, runs,
             passed(), places_reached(), corpus.size(), seeds);
  return 0;
}

int run_once(const Target& target, const std::filesystem::path& file) {
  install_handlers("fuzz-again");
  const std::string input = read_file(file);
  return survives(target, input) ? 0 : 1;
}

}  // namespace weft::fuzz
