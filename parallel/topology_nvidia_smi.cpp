/// \file
/// How GPUs are joined, from what `nvidia-smi topo -m` prints. The program is asked rather than
/// NVML so that the build needs nothing of CUDA and the same binary runs where there is no GPU.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kolam/core/error.hpp>
#include <kolam/parallel/topology.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

namespace kolam {

namespace {

using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

/// Whether a word is the prefix and then a number.
bool is_numbered(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return false;
  word.remove_prefix(prefix.size());
  return !word.empty() && std::ranges::all_of(word, is_digit);
}

bool is_gpu(std::string_view word) {
  return is_numbered(word, "GPU");
}

/// Whether a word can be a kind of link. Affinities (`0-15`, `N/A`) cannot: that is how a row that
/// lacks a cell is noticed.
bool is_link(std::string_view word) {
  return is_letter(word.front()) && word.find('/') == std::string_view::npos;
}

/// Without the escape sequences that underline the header: ESC [, parameters, a letter.
std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      plain += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') ++i;
    do {
      ++i;
    } while (i < text.size() && text[i] != '\n' && !is_letter(text[i]));
    if (i < text.size() && text[i] == '\n') plain += '\n';
  }
  return plain;
}

/// The words of each line. Columns are counted in words, not in tabs: the number of tabs between
/// two cells changes with their width and with the version.
std::vector<Words> lines_of(std::string_view text) {
  std::vector<Words> lines(1);
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) lines.back().push_back(std::exchange(word, {}));
  };
  for (const char c : without_colours(text)) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
      if (c == '\n') lines.emplace_back();
    } else {
      word += c;
    }
  }
  end_word();
  return lines;
}

/// The header: the first line that names a GPU; the end of the lines if none does.
auto find_header(const std::vector<Words>& lines) {
  return std::ranges::find_if(lines,
                              [](const Words& line) { return std::ranges::any_of(line, is_gpu); });
}

/// The header's columns that hold links, those of network cards too. After them come the headings
/// `CPU Affinity`, `NUMA Affinity` and `GPU NUMA ID`, which are several words each.
Words columns_of(const Words& header) {
  const auto end = std::ranges::find_if(header, [](const std::string& word) {
    return word == "CPU" || word == "NUMA" || word == "GPU";
  });
  return {header.begin(), end};
}

Link link_of_kind(const std::string& kind) {
  // More NVLinks than any GPU has, so that each number has a distance of its own before PIX.
  constexpr int most_links = 100;
  if (is_numbered(kind, "NV") && kind.size() <= 4) {
    const int count = std::stoi(kind.substr(2));
    if (count > 0) {
      return {kind, most_links - count, fmt::format("{} NVLink{}", count, count == 1 ? "" : "s")};
    }
  }
  const std::array<std::pair<const char*, const char*>, 5> through_host = {{
      {"PIX", "at most one PCIe bridge"},
      {"PXB", "several PCIe bridges"},
      {"PHB", "a PCIe host bridge (the CPU)"},
      {"NODE", "PCIe host bridges within one memory node"},
      {"SYS", "the wire between memory nodes"},
  }};
  int distance = most_links;
  for (const auto& [name, meaning] : through_host) {
    if (kind == name) return {kind, distance, meaning};
    ++distance;
  }
  return {kind, distance, "a kind not known here; counted as the slowest"};
}

/// The links of one GPU's row, network columns left out.
std::vector<Link> links_of(const Words& row, const Words& columns) {
  const std::string& name = row.front();
  const Words after(row.begin() + 1, row.end());
  const auto end = std::ranges::find_if_not(after, is_link);
  const auto cells = static_cast<std::size_t>(end - after.begin());
  if (cells < columns.size()) {
    // Which one is missing is not known, so even a lack of network cells makes the row useless.
    const auto gpus = static_cast<std::size_t>(std::ranges::count_if(columns, is_gpu));
    throw DataError(
        fmt::format("the row {} of nvidia-smi's topology has {} cells, but the header has {} "
                    "columns, of which {} GPUs; expected a cell for each",
                    name, cells, columns.size(), gpus));
  }
  std::vector<Link> links;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!is_gpu(columns[i])) continue;
    if ((after[i] == "X") != (columns[i] == name)) {
      throw DataError(
          fmt::format("the row {} of nvidia-smi's topology has {} in the column {}; "
                      "expected X in its own column and nowhere else",
                      name, after[i], columns[i]));
    }
    links.push_back(after[i] == "X" ? link_to_itself() : link_of_kind(after[i]));
  }
  return links;
}

/// Makes both entries of each pair the slower one.
void make_symmetric(std::vector<std::vector<Link>>& links) {
  for (std::size_t a = 0; a < links.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      Link& faster = links[a][b].distance < links[b][a].distance ? links[a][b] : links[b][a];
      Link& slower = &faster == &links[a][b] ? links[b][a] : links[a][b];
      faster = slower;
    }
  }
}

Topology read_matrix(const std::vector<Words>& lines) {
  const auto header = find_header(lines);
  if (header == lines.end()) {
    throw DataError(
        fmt::format("nvidia-smi's topology names no GPU in {} lines; expected a "
                    "header with GPU0",
                    lines.size()));
  }
  const Words columns = columns_of(*header);
  Topology topology;
  for (const std::string& column : columns) {
    if (!is_gpu(column)) continue;
    const auto row = std::find_if(header + 1, lines.end(), [&](const Words& line) {
      return !line.empty() && line.front() == column;
    });
    if (row == lines.end()) {
      throw DataError(
          fmt::format("nvidia-smi's topology has a column {}, but no row of that name", column));
    }
    topology.devices.push_back(column);
    topology.links.push_back(links_of(*row, columns));
  }
  make_symmetric(topology.links);
  return topology;
}

/// The reading end of a child's output; closed with the object.
class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

/// Starts `nvidia-smi topo -m`, without a shell. \returns its process, or -1.
pid_t start_nvidia_smi(int output) {
  std::string program = "nvidia-smi";
  std::string command = "topo";
  std::string option = "-m";
  const std::array<char*, 4> arguments = {program.data(), command.data(), option.data(), nullptr};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  // First, as the pipe may have number 0 or 2 in a process that closed its own.
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? process : -1;
}

/// Reads to the end. \returns nothing if that does not come before the deadline.
std::optional<std::string> read_until(int file, Clock::time_point deadline) {
  std::string text;
  std::array<char, 4096> block;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd waiting = {.fd = file, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t bytes = read(file, block.data(), block.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return std::nullopt;
    if (bytes == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(bytes));
  }
}

/// Whether the process ends before the deadline, and well. Never blocks longer: a process that is
/// stuck in a driver cannot even be killed.
bool ends_well(pid_t process, Clock::time_point deadline) {
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(process, SIGKILL);
  // Takes the ended process off the system's list; a stuck one is left.
  for (int i = 0; i < 50 && waitpid(process, &status, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// What nvidia-smi prints, if it can be started and ends well within the limit.
std::optional<std::string> ask_nvidia_smi(std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  std::array<int, 2> ends;
  // Other children of this process must not hold the pipe open.
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const File output(ends[0]);
  File input(ends[1]);
  const pid_t process = start_nvidia_smi(input.number());
  input.close();
  if (process < 0) return std::nullopt;
  std::optional<std::string> text = read_until(output.number(), deadline);
  const bool is_well = ends_well(process, text ? deadline : Clock::now());
  return is_well ? text : std::nullopt;
}

}  // namespace

Topology parse_nvidia_smi_topology(std::string_view text) {
  return read_matrix(lines_of(text));
}

std::optional<Topology> gpu_topology(std::chrono::milliseconds limit) {
  const std::optional<std::string> text = ask_nvidia_smi(limit);
  if (!text) return std::nullopt;
  const std::vector<Words> lines = lines_of(*text);
  if (find_header(lines) == lines.end()) return std::nullopt;
  return read_matrix(lines);
}

}  // namespace kolam
