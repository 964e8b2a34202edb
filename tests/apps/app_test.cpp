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
#include "report/plot.hpp"
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
  const Section section{"Title", {Table{{"name", "value"}, {{"a", "5"}, {"long", "1,000"}}}}};
  EXPECT_EQ(to_text(section),
            "Title\n"
            "  name  value\n"
            "  ----  -----\n"
            "  a         5\n"
            "  long  1,000\n"
            "\n");
}

TEST(Text, DrawsBarsInProportion) {
  EXPECT_EQ(text_of(Bars{{{"one", 50, "50"}, {"two", 100, "100"}}}),
            "  one  " + std::string(18, '#') + " 50\n  two  " + std::string(36, '#') + " 100\n");
}

TEST(Text, DrawsAPlotWithinEightyColumns) {
  const Plot plot{"global batch", "examples/s", {{256, 2000}, {512, 6000}, {4096, 8000}}};
  const std::string text = text_of(plot);
  EXPECT_THAT(text, AllOf(HasSubstr("8,000 |"), HasSubstr("256"), HasSubstr("4,096"),
                          HasSubstr("global batch (each step twice")));
  std::istringstream lines(text);
  int stars = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U);
    stars += static_cast<int>(std::count(line.begin(), line.end(), '*'));
  }
  EXPECT_EQ(stars, 3);
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

RunResult made_up_run(int devices, double milliseconds, double communication) {
  RunResult run;
  run.devices = devices;
  run.global_batch = 256 * devices;
  run.milliseconds_per_step = milliseconds;
  run.examples_per_second = static_cast<double>(run.global_batch) / milliseconds * 1000;
  run.measurements = {milliseconds};
  run.final_loss = 0.5;
  run.final_accuracy = 0.75;
  run.peak_bytes = 36'000'000;
  run.digest = std::string(64, 'a');
  if (devices == 1) return run;
  run.collectives = {{.kind = CollectiveKind::allreduce,
                      .label = "gradients",
                      .axes = "data",
                      .group_size = devices,
                      .bytes = 4 << 20,
                      .waited_seconds = 0.0005,
                      .seconds = communication / 1000}};
  return run;
}

/// A step of 90 ms on one device, of `milliseconds` on two.
Study made_up_study(double milliseconds, double communication) {
  Study study;
  study.options = study_preset("quick");
  study.devices.resize(2);
  for (DeviceInfo& device : study.devices) device.kind = "cpu core";
  study.devices[1].index = 1;
  study.topology = "     0   1\n  0  X   L3\n";
  study.workload = {"Fashion-MNIST", "/data", 60000, 28, 28, 10, 669706, 4 << 20};
  study.communication = CommunicationModel(1e-6, {{1 << 20, 1e10}});
  study.memory = {{1000, 1000, 2000, 30000, 4000}, 36'000'000, std::int64_t{1} << 30};
  study.baseline = made_up_run(1, 90, 0);
  study.automatic = made_up_run(2, milliseconds, communication);
  study.mapped = study.automatic;
  study.comparison = compare(study);
  study.sweep = {{256, 128, SweepPoint::Outcome::measured, 7000, 36, 20'000'000, 19'000'000},
                 {512, 256, SweepPoint::Outcome::measured, 6900, 74, 30'000'000, 29'000'000},
                 {1023, 0, SweepPoint::Outcome::does_not_divide, 0, 0, 0, 0},
                 {2048, 1024, SweepPoint::Outcome::does_not_fit, 0, 0, 90'000'000, 0}};
  return study;
}

std::vector<Section> made_up_sections(const Study& study) {
  return {devices_section(study.devices, study.topology),
          workload_section(study),
          run_section("One device", study.baseline),
          mesh_section(study),
          placement_section(study),
          run_section("2 devices, automatic", study.automatic),
          comparison_section(study),
          paths_section(study),
          collectives_section(study),
          memory_section(study),
          sweep_section(study)};
}

TEST(Sections, FitEightyColumnsAndSayWhyASizeWasLeftOut) {
  const Study study = made_up_study(100, 1);
  std::string all;
  for (const Section& section : made_up_sections(study)) all += to_text(section);
  EXPECT_THAT(all, AllOf(HasSubstr("1,023 was left out: it does not divide by 2 devices."),
                         HasSubstr("2,048 does not fit: it\nneeds about 85.8 MiB per device")));
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Message, SaysByHowMuchThroughputImproved) {
  const Comparison comparison = compare(made_up_study(100, 1));
  EXPECT_TRUE(comparison.has_improved);
  EXPECT_NEAR(comparison.throughput_ratio, 1.8, 1e-12);
  EXPECT_NEAR(comparison.efficiency, 0.9, 1e-12);
  EXPECT_THAT(comparison.message,
              AllOf(HasSubstr("Throughput improved 1.80 times on 2 devices (90 % of the ideal 2)"),
                    HasSubstr("A step takes 100 instead of 90.0 ms (+11 %)"),
                    HasSubstr("1.0 % of the step is communication (1.00 of 100 ms)"),
                    HasSubstr("0.5 % is waiting"), Not(HasSubstr("Raise"))));
}

TEST(Message, SaysWhatToRaiseWhenCommunicationLimits) {
  const Comparison comparison = compare(made_up_study(200, 120));
  EXPECT_FALSE(comparison.has_improved);
  // 120 of 200 ms communicate; 14 times the other 80 ms make them a tenth.
  EXPECT_THAT(comparison.message,
              AllOf(HasSubstr("2 devices reach 0.90 times one device"),
                    HasSubstr("bound by communication"), HasSubstr("60.0 % of the step"),
                    HasSubstr("Raise --repeats from 16 to 224 or --batch-per-device from 256 to "
                              "3,584"),
                    HasSubstr("4.0 MiB of gradients"), HasSubstr("about 10 % of it")));
}

TEST(Message, BlamesSharedCoresAndNotCommunicationWhereThatIsTheCause) {
  Study study = made_up_study(200, 1);
  EXPECT_THAT(compare(study).message, AllOf(HasSubstr("communication is not what limits"),
                                            Not(HasSubstr("bound by communication"))));
  study.devices.front().is_shared = true;
  EXPECT_THAT(compare(study).message,
              AllOf(HasSubstr("share cores"), Not(HasSubstr("bound by communication"))));
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

TEST(Results, HaveDocumentedKeysOnly) {
  const Study study = made_up_study(100, 1);
  std::set<std::string> keys;
  collect_keys(nlohmann::json::parse(results_json(study, made_up_sections(study))), keys);
  for (const char* top : {"workload", "devices", "baseline", "automatic", "explicit", "comparison",
                          "communication", "memory", "sweep", "tables"}) {
    EXPECT_TRUE(keys.contains(top)) << top;
  }
  const std::set<std::string> documented = documented_keys();
  for (const std::string& key : keys) EXPECT_TRUE(documented.contains(key)) << key;
}

TEST(Results, AreWrittenWithADotUnderACommaLocale) {
  const CommaLocale locale;
  const auto json = nlohmann::json::parse(results_json(made_up_study(100, 1), {}));
  EXPECT_EQ(json["workload"]["learning_rate"], 0.0003);
  EXPECT_EQ(json["workload"]["parameters"], 669706);
  EXPECT_EQ(json["comparison"]["throughput_ratio"].get<double>(), 1.8);
}

/// Texts between two tags, in order, with the characters that HTML escapes put back.
std::vector<std::string> cells_of(const std::string& html, const std::string& pattern) {
  const std::regex tag(pattern);
  std::vector<std::string> cells;
  for (std::sregex_iterator i(html.begin(), html.end(), tag), end; i != end; ++i) {
    std::string cell = (*i)[1];
    for (const auto& [code, character] : std::vector<std::pair<std::string, std::string>>{
             {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}}) {
      for (std::size_t at = 0; (at = cell.find(code, at)) != std::string::npos; ++at) {
        cell.replace(at, code.size(), character);
      }
    }
    cells.push_back(cell);
  }
  return cells;
}

TEST(Report, ShowsTheTablesOfTheResults) {
  const Study study = made_up_study(100, 1);
  const std::vector<Section> sections = made_up_sections(study);
  const auto json = nlohmann::json::parse(results_json(study, sections));
  std::vector<std::string> headers;
  std::vector<std::string> cells;
  for (const auto& table : json["tables"]) {
    for (const auto& column : table["columns"]) headers.push_back(column);
    for (const auto& row : table["rows"]) {
      for (const auto& cell : row) cells.push_back(cell);
    }
  }
  const std::string html = to_html("kolam study", sections);
  EXPECT_EQ(cells_of(html, "<th scope=\"col\"(?: class=\"number\")?>([^<]*)</th>"), headers);
  EXPECT_EQ(cells_of(html, "<t[dh](?: class=\"number\"| scope=\"row\")?>([^<]*)</t[dh]>"), cells);
  EXPECT_GT(cells.size(), 100U);
}

TEST(Report, TablesShowTheFiguresOfTheResults) {
  const Study study = made_up_study(100, 1);
  const auto json = nlohmann::json::parse(results_json(study, made_up_sections(study)));
  const auto table = [&](const std::string& section) {
    for (const auto& candidate : json["tables"]) {
      if (candidate["section"] == section) return candidate["rows"];
    }
    ADD_FAILURE() << "no table of " << section;
    return nlohmann::json();
  };
  const auto comparison = table("Comparison");
  for (const auto& [row, run] : {std::pair(0, "baseline"), std::pair(1, "automatic")}) {
    EXPECT_EQ(comparison[row][2], short_number(json[run]["examples_per_second"]));
    EXPECT_EQ(comparison[row][3], short_number(json[run]["milliseconds_per_step"]));
  }
  const auto sweep = table("Batch sweep on 2 devices");
  ASSERT_EQ(sweep.size(), 2U);
  EXPECT_EQ(sweep[1][2], short_number(json["sweep"][1]["examples_per_second"]));
  EXPECT_EQ(sweep[1][4], bytes_text(json["sweep"][1]["used_bytes"]));
  const auto memory = table("Memory per device");
  EXPECT_EQ(memory[5][1], with_thousands(json["memory"]["estimated_bytes"]));
  EXPECT_EQ(memory[6][1], with_thousands(json["memory"]["used_bytes"]));
  const auto collectives = table("Collectives of one step (ms)");
  EXPECT_EQ(collectives[0][4], with_thousands(json["communication"]["automatic"][0]["bytes"]));
}

TEST(Report, NeedsNoNetworkAndNoScript) {
  const std::string html = to_html("kolam study", made_up_sections(made_up_study(100, 1)));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("src=")),
                          Not(HasSubstr("href=")), Not(HasSubstr("url("))));
}

TEST(Report, EscapesWhatItIsGiven) {
  const std::string html = to_html("a & b", {{"<i>", {Paragraph{"1 < 2 > \"0\" & so on"}}}});
  EXPECT_THAT(html, AllOf(HasSubstr("<h2>&lt;i&gt;</h2>"),
                          HasSubstr("<p>1 &lt; 2 &gt; &quot;0&quot; &amp; so on</p>"),
                          HasSubstr("<title>a &amp; b</title>")));
}

TEST(Plot, HasRoundTicks) {
  EXPECT_EQ(round_ticks(7300), (std::vector<double>{0, 2000, 4000, 6000, 8000}));
  EXPECT_EQ(round_ticks(100), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(round_ticks(0), (std::vector<double>{0, 1}));
}

TEST(Plot, PutsDoublingSizesAtEqualDistances) {
  const Plot plot{"x", "y", {{256, 1}, {512, 1}, {4096, 1}}};
  EXPECT_DOUBLE_EQ(log_position(plot, 256), 0);
  EXPECT_DOUBLE_EQ(log_position(plot, 512), 0.25);
  EXPECT_DOUBLE_EQ(log_position(plot, 2048), 0.75);
  EXPECT_DOUBLE_EQ(log_position(Plot{"x", "y", {{256, 1}}}, 256), 0.5);
  EXPECT_THAT(to_svg(Plot{"x", "y", {}}), HasSubstr("</svg>"));
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
