// The parts of the program that measure nothing: numbers, tables, messages, results.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kolam/core/error.hpp>

#include <clocale>
#include <filesystem>
#include <fstream>
#include <locale>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "numbers.hpp"
#include "study/study.hpp"
#include "terminal/text.hpp"

namespace {

using namespace kolam;
using namespace kolam::app;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

template <class Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "it was accepted";
}

/// A locale with comma and grouping, as in Germany, whatever is installed.
class CommaLocale {
 public:
  CommaLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Comma))) {
    std::setlocale(LC_ALL, "de_DE.UTF-8");
  }
  ~CommaLocale() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, "C");
  }

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
};

TEST(Numbers, AreReadWholeUnderAnyLocale) {
  for (const bool has_comma : {false, true}) {
    const std::optional<CommaLocale> locale =
        has_comma ? std::make_optional<CommaLocale>() : std::nullopt;
    EXPECT_EQ(parse_number("--lr", "0.001", 0, 1), 0.001);
    EXPECT_EQ(parse_number("--lr", "1e-3", 0, 1), 0.001);
    EXPECT_EQ(parse_integer("--n", "60000", 0), 60000);
    for (const char* token : {"0,001", "0.001x", "nan", "inf", "-1", "1e400", "", " 1", "1 ", "0x1",
                              "+1", "1e", "--1", "1.2.3"}) {
      const std::string message = refusal([&] { parse_number("--lr", token, 0, 1); });
      EXPECT_THAT(message, HasSubstr("--lr is \"" + std::string(token) + "\"; expected a number "));
    }
    for (const char* token :
         {"1.5", "1,000", "1.000", "-1", "", "9223372036854775808", "1e3", "x"}) {
      EXPECT_THAT(refusal([&] { parse_integer("--n", token, 0); }),
                  HasSubstr("\"" + std::string(token) + "\"; expected a whole number"));
    }
  }
}

TEST(Numbers, OfBytesTakeASuffix) {
  EXPECT_EQ(parse_bytes("--memory-limit", "800"), 800);
  EXPECT_EQ(parse_bytes("--memory-limit", "512M"), 536870912);
  EXPECT_EQ(parse_bytes("--memory-limit", "4G"), 4294967296);
  for (const char* token : {"", "0", "-1", "M", "1.5G", "1MB", "99999999999T"}) {
    EXPECT_THAT(refusal([&] { parse_bytes("--memory-limit", token); }),
                HasSubstr("\"" + std::string(token) + "\""));
  }
}

TEST(Text, IsTheSameUnderACommaLocale) {
  const CommaLocale locale;
  EXPECT_EQ(with_thousands(60000), "60,000");
  EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(short_number(3621.97), "3,622");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(36.23), "36.2");
  EXPECT_EQ(short_number(0.0824), "0.08");
  EXPECT_EQ(bytes_text(536870912), "512.0 MiB");
  EXPECT_EQ(bytes_text(12), "12 B");
}

TEST(Text, AlignsColumnsOfNumbersToTheRight) {
  Table table("Title", {"name", "value"});
  table.add({"a", "5"});
  table.add({"long", "1,000"});
  EXPECT_EQ(table.text(),
            "Title\n"
            "  name  value\n"
            "  ----  -----\n"
            "  a         5\n"
            "  long  1,000\n");
}

TEST(Text, DrawsBarsInProportion) {
  const std::string text = bars({{"one", 50, "50"}, {"two", 100, "100"}});
  EXPECT_EQ(text,
            "  one  " + std::string(18, '#') + " 50\n  two  " + std::string(36, '#') + " 100\n");
}

TEST(Text, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three four", 9), "one two\nthree\nfour\n");
}

TEST(Options, OverrideTheirPreset) {
  StudyOptions options = study_preset("quick");
  EXPECT_EQ(options.width, 512);
  set_study_option(options, "--width", "64");
  set_study_option(options, "--learning-rate", "1e-3");
  EXPECT_EQ(options.width, 64);
  EXPECT_EQ(options.repeats, 16);
  EXPECT_EQ(options.learning_rate, 0.001);
  EXPECT_THAT(refusal([] { study_preset("huge"); }), HasSubstr("\"huge\"; expected quick or"));
  EXPECT_THAT(refusal([&] { set_study_option(options, "--gelu", "erf"); }),
              HasSubstr("\"erf\"; expected tanh or exact"));
}

TEST(Options, OfTheCodelabAreItsOwn) {
  const StudyOptions codelab = study_preset("codelab");
  EXPECT_EQ(codelab.width, 1024);
  EXPECT_EQ(codelab.repeats, 128);
  EXPECT_EQ(codelab.mix, 0.1);
  EXPECT_EQ(codelab.batch_per_device, 1024);
  EXPECT_EQ(codelab.batches, 8);
  EXPECT_EQ(codelab.warmup, 4);
  EXPECT_EQ(codelab.measurements, 3);
  EXPECT_EQ(codelab.steps, 15);
  EXPECT_EQ(codelab.learning_rate, 3e-4);
  EXPECT_EQ(codelab.weight_decay, 1e-4);
}

RunResult made_up_run(int devices, double milliseconds, double allreduce) {
  RunResult run;
  run.devices = devices;
  run.global_batch = 256 * devices;
  run.milliseconds_per_step = milliseconds;
  run.examples_per_second = static_cast<double>(run.global_batch) / milliseconds * 1000;
  run.measurements = {milliseconds};
  run.final_loss = 0.5;
  run.final_accuracy = 0.75;
  run.allreduce_milliseconds = allreduce;
  run.digest = std::string(64, 'a');
  return run;
}

Comparison made_up_comparison(double milliseconds, double allreduce, bool shared = false) {
  Workload workload;
  workload.gradient_bytes = 4 << 20;
  const RunResult two = made_up_run(2, milliseconds, allreduce);
  return compare(made_up_run(1, 90, 0), two, two, workload, study_preset("quick"), shared);
}

TEST(Message, SaysByHowMuchThroughputImproved) {
  const Comparison comparison = made_up_comparison(100, 1);
  EXPECT_TRUE(comparison.has_improved);
  EXPECT_NEAR(comparison.throughput_ratio, 1.8, 1e-12);
  EXPECT_NEAR(comparison.efficiency, 0.9, 1e-12);
  EXPECT_THAT(comparison.message,
              AllOf(HasSubstr("Throughput improved 1.80 times on 2 devices (90 % of the ideal 2)"),
                    HasSubstr("A step takes 100 instead of 90.0 ms (+11 %)"),
                    HasSubstr("1.0 % is the allreduce"), Not(HasSubstr("Raise"))));
}

TEST(Message, SaysWhatToRaiseWhenCommunicationLimits) {
  const Comparison comparison = made_up_comparison(200, 120);
  EXPECT_FALSE(comparison.has_improved);
  EXPECT_THAT(comparison.message,
              AllOf(HasSubstr("2 devices reach 0.90 times one device"),
                    HasSubstr("bound by communication"), HasSubstr("60 % of the step"),
                    HasSubstr("Raise --repeats (now 16) or --batch-per-device (now 256)"),
                    HasSubstr("4.0 MiB of gradients")));
}

TEST(Message, BlamesSharedCoresAndNotCommunicationWhereThatIsTheCause) {
  EXPECT_THAT(made_up_comparison(200, 1, true).message,
              AllOf(HasSubstr("share cores"), Not(HasSubstr("bound by communication"))));
  EXPECT_THAT(made_up_comparison(200, 1).message, Not(HasSubstr("bound by communication")));
}

/// Names of keys in backquotes in docs/results.md.
std::set<std::string> documented_keys() {
  std::ifstream file(KOLAM_DOCS "/results.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  const std::regex key("`([a-z0-9_]+)`");
  std::set<std::string> keys;
  for (std::sregex_iterator i(content.begin(), content.end(), key), end; i != end; ++i) {
    keys.insert((*i)[1]);
  }
  return keys;
}

void collect_keys(const nlohmann::json& json, std::set<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      keys.insert(key);
      collect_keys(value, keys);
    }
  } else if (json.is_array()) {
    for (const auto& value : json) collect_keys(value, keys);
  }
}

std::string made_up_json() {
  DeviceInfo device;
  device.kind = "cpu core";
  const RunResult one = made_up_run(1, 90, 0);
  const RunResult two = made_up_run(2, 100, 1);
  Workload workload;
  workload.parameters = 669706;
  const StudyOptions options = study_preset("quick");
  return results_json({device}, workload, options, one, two, two,
                      compare(one, two, two, workload, options, false));
}

TEST(Results, HaveDocumentedKeysOnly) {
  std::set<std::string> keys;
  collect_keys(nlohmann::json::parse(made_up_json()), keys);
  for (const char* top :
       {"workload", "devices", "baseline", "automatic", "explicit", "comparison"}) {
    EXPECT_TRUE(keys.contains(top)) << top;
  }
  const std::set<std::string> documented = documented_keys();
  for (const std::string& key : keys) EXPECT_TRUE(documented.contains(key)) << key;
}

TEST(Results, AreWrittenWithADotUnderACommaLocale) {
  const CommaLocale locale;
  const auto json = nlohmann::json::parse(made_up_json());
  EXPECT_EQ(json["workload"]["learning_rate"], 0.0003);
  EXPECT_EQ(json["workload"]["parameters"], 669706);
  EXPECT_EQ(json["comparison"]["throughput_ratio"].get<double>(), 1.8);
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kolam_app_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(WriteWhole, LeavesNothingBehindWhenItFails) {
  const Folder folder;
  std::filesystem::create_directory(folder.path / "results.json");
  EXPECT_THROW(write_whole(folder.path / "results.json", "{}"), DataError);
  EXPECT_THROW(write_whole(folder.path / "missing" / "results.json", "{}"), DataError);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    ++files;
  }
  EXPECT_EQ(files, 1u);
}

TEST(WriteWhole, ReplacesAFile) {
  const Folder folder;
  write_whole(folder.path / "a", "old");
  write_whole(folder.path / "a", "new");
  std::ifstream file(folder.path / "a");
  std::string content;
  file >> content;
  EXPECT_EQ(content, "new");
}

TEST(ReportFolder, ThatCannotBeMadeIsRefused) {
  const Folder folder;
  std::ofstream(folder.path / "file") << "x";
  EXPECT_THAT(refusal([&] { prepare_report_folder(folder.path / "file"); }), HasSubstr("--report"));
  EXPECT_THAT(refusal([&] { prepare_report_folder(folder.path / "file" / "below"); }),
              HasSubstr("cannot be made"));
  prepare_report_folder(folder.path / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path / "a" / "b"));
}

}  // namespace
