#include <kolam/core/data/batch_loader.hpp>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>
#include <kolam/core/data/pixels.hpp>
#include <kolam/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace kolam::data {

namespace {

void check(const LoaderOptions& options) {
  const auto require = [](bool holds, const char* name, std::int64_t value, const char* expected) {
    if (holds) return;
    throw ConfigurationError(fmt::format("{} is {}, expected {}", name, value, expected));
  };
  require(options.global_batch >= 1, "the global batch", options.global_batch, "at least 1");
  require(options.ahead >= 0, "the number of batches ahead", options.ahead, "0 or more");
}

/// A thread has the affinity of the one that made it, and a rank is pinned to its core: without
/// this the loader would take that core from it.
void use_any_core() {
  cpu_set_t cores;
  if (sched_getaffinity(getpid(), sizeof cores, &cores) == 0) {
    sched_setaffinity(0, sizeof cores, &cores);
  }
}

}  // namespace

template <class T>
struct BatchLoader<T>::State {
  State(const Dataset& source, const LoaderOptions& loader_options)
      : dataset(source),
        options(loader_options),
        batch(std::min(options.global_batch, source.count())),
        full_share(share(batch)),
        last_share(share(rows_of(batch_count() - 1))),
        order(static_cast<std::size_t>(source.count())) {
    const std::int64_t most = full_share.length;
    // One is being used while the others are prepared.
    slots.resize(static_cast<std::size_t>(options.ahead) + 1);
    for (Slot& slot : slots) {
      slot.images.resize(static_cast<std::size_t>(most * source.features()));
      slot.labels.resize(static_cast<std::size_t>(most));
    }
  }
  ~State() { stop(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  struct Slot {
    std::vector<T> images;
    std::vector<std::int32_t> labels;
    std::int64_t rows = 0;
  };

  Slice share(std::int64_t rows) const {
    return options.share ? options.share(rows) : Slice{0, rows};
  }
  std::int64_t batch_count() const { return (dataset.count() - 1) / batch + 1; }
  std::int64_t rows_of(std::int64_t index) const {
    return std::min(batch, dataset.count() - index * batch);
  }
  Slot& slot_of(std::int64_t index) {
    return slots[static_cast<std::size_t>(index) % slots.size()];
  }

  void prepare(std::int64_t index) {
    Slot& slot = slot_of(index);
    const Slice& mine = index + 1 < batch_count() ? full_share : last_share;
    slot.rows = mine.length;
    T* pixels = slot.images.data();
    for (std::int64_t row = 0; row < mine.length; ++row) {
      const auto example = order[static_cast<std::size_t>(index * batch + mine.begin + row)];
      convert_pixels(dataset.image(example), pixels);
      pixels += dataset.features();
      slot.labels[static_cast<std::size_t>(row)] = dataset.labels()[example];
    }
  }

  void start(std::uint64_t epoch) {
    stop();
    is_started = true;
    if (options.order == Order::shuffled) {
      order = shuffled_order(dataset.count(), options.seed, epoch);
    } else {
      std::iota(order.begin(), order.end(), std::uint32_t{0});
    }
    current = -1;
    prepared = 0;
    taken = 0;
    if (options.ahead == 0) return;
    should_stop = false;
    thread = std::thread([this] { prepare_all(); });
  }

  /// The loader's thread. It and the training thread share two counters and no lock: a slot belongs
  /// to the training thread from when `prepared` passes it until `taken` does.
  void prepare_all() {
    use_any_core();
    for (std::int64_t index = 0; index < batch_count(); ++index) {
      std::int64_t used = taken.load(std::memory_order_acquire);
      while (index - used >= static_cast<std::int64_t>(slots.size()) && !should_stop) {
        taken.wait(used, std::memory_order_acquire);
        used = taken.load(std::memory_order_acquire);
      }
      if (should_stop) return;
      prepare(index);
      prepared.store(index + 1, std::memory_order_release);
      prepared.notify_one();
    }
  }

  bool next() {
    if (!is_started) start(0);
    if (current + 1 >= batch_count()) return false;
    ++current;
    if (options.ahead == 0) {
      prepare(current);
      return true;
    }
    taken.store(current, std::memory_order_release);
    taken.notify_one();
    std::int64_t ready = prepared.load(std::memory_order_acquire);
    while (ready <= current) {
      prepared.wait(ready, std::memory_order_acquire);
      ready = prepared.load(std::memory_order_acquire);
    }
    return true;
  }

  void stop() {
    if (!thread.joinable()) return;
    should_stop = true;
    // Any other value wakes the thread.
    taken.fetch_add(batch_count() + 1);
    taken.notify_one();
    thread.join();
  }

  const Dataset& dataset;
  const LoaderOptions options;
  const std::int64_t batch;
  /// Asked for here, once: what the caller gave must not throw on the loader's thread.
  const Slice full_share;
  const Slice last_share;
  std::vector<std::uint32_t> order;
  std::vector<Slot> slots;
  bool is_started = false;
  std::int64_t current = -1;
  std::atomic<std::int64_t> prepared{0};
  std::atomic<std::int64_t> taken{0};
  std::atomic<bool> should_stop{false};
  std::thread thread;
};

template <class T>
BatchLoader<T>::BatchLoader(const Dataset& dataset, const LoaderOptions& options) {
  check(options);
  state_ = std::make_unique<State>(dataset, options);
}

template <class T>
BatchLoader<T>::~BatchLoader() = default;

template <class T>
void BatchLoader<T>::start(std::uint64_t epoch) {
  state_->start(epoch);
}

template <class T>
bool BatchLoader<T>::next() {
  return state_->next();
}

template <class T>
std::int64_t BatchLoader<T>::batch_count() const {
  return state_->batch_count();
}

template <class T>
std::int64_t BatchLoader<T>::global_rows() const {
  return state_->rows_of(state_->current);
}

template <class T>
HostTensor<T> BatchLoader<T>::images() const {
  const auto& slot = state_->slot_of(state_->current);
  return {slot.images.data(), {slot.rows, state_->dataset.features()}};
}

template <class T>
HostTensor<std::int32_t> BatchLoader<T>::labels() const {
  const auto& slot = state_->slot_of(state_->current);
  return {slot.labels.data(), {slot.rows}};
}

template class BatchLoader<float>;
template class BatchLoader<double>;

}  // namespace kolam::data
