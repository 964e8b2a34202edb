// How long people wait before anything is trained: one iteration starts a process that loads the
// data, makes one small step and ends.
#include <benchmark/benchmark.h>

#include <spawn.h>
#include <sys/wait.h>

#include <string>

extern char** environ;

namespace {

std::string beside(const char* program, const char* name) {
  const std::string path = program;
  return path.substr(0, path.find_last_of('/') + 1) + name;
}

bool runs(const std::string& path) {
  char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  pid_t child = 0;
  int status = 0;
  return posix_spawn(&child, path.c_str(), nullptr, nullptr, arguments, environ) == 0 &&
         waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = beside(argv[0], "bench_first_step");
  benchmark::RegisterBenchmark("process_start_to_first_step",
                               [&](benchmark::State& state) {
                                 for (auto _ : state) {
                                   if (!runs(program))
                                     state.SkipWithError("bench_first_step failed");
                                 }
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
