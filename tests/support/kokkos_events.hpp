/// \file
/// Watches Kokkos through its profiling hooks: allocations, and the labels of kernels and Views.
/// The hooks are process-wide, so one watcher lives at a time.
#pragma once

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace kolam::test {

struct KokkosEvents {
  std::atomic<int> allocations{0};
  std::atomic<std::int64_t> live_bytes{0};
  std::atomic<std::int64_t> peak_bytes{0};
  std::mutex mutex;
  std::vector<std::string> kernels;
  std::vector<std::string> views;
};

inline KokkosEvents& kokkos_events() {
  static KokkosEvents events;
  return events;
}

namespace detail {

inline void on_allocate(Kokkos::Profiling::SpaceHandle, const char* label, const void*,
                        const std::uint64_t) {
  ++kokkos_events().allocations;
  const std::scoped_lock lock(kokkos_events().mutex);
  kokkos_events().views.emplace_back(label);
}

inline void on_take(Kokkos::Profiling::SpaceHandle, const char*, const void*,
                    const std::uint64_t bytes) {
  KokkosEvents& events = kokkos_events();
  const std::int64_t now = events.live_bytes += static_cast<std::int64_t>(bytes);
  std::int64_t peak = events.peak_bytes;
  while (now > peak && !events.peak_bytes.compare_exchange_weak(peak, now)) {
  }
}

inline void on_give_back(Kokkos::Profiling::SpaceHandle, const char*, const void*,
                         const std::uint64_t bytes) {
  kokkos_events().live_bytes -= static_cast<std::int64_t>(bytes);
}

inline void on_kernel(const char* name, const std::uint32_t, std::uint64_t*) {
  const std::scoped_lock lock(kokkos_events().mutex);
  kokkos_events().kernels.emplace_back(name);
}

}  // namespace detail

/// Counts allocations of Kokkos memory while it lives.
class CountAllocations {
 public:
  CountAllocations() : before_(kokkos_events().allocations) {
    Kokkos::Tools::Experimental::set_allocate_data_callback(detail::on_allocate);
  }
  ~CountAllocations() { Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr); }
  CountAllocations(const CountAllocations&) = delete;
  CountAllocations& operator=(const CountAllocations&) = delete;
  int so_far() const { return kokkos_events().allocations - before_; }

 private:
  int before_;
};

/// Kokkos memory that was taken and not given back while it lives.
class LiveMemory {
 public:
  LiveMemory() {
    kokkos_events().live_bytes = 0;
    kokkos_events().peak_bytes = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(detail::on_take);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(detail::on_give_back);
  }
  ~LiveMemory() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  LiveMemory(const LiveMemory&) = delete;
  LiveMemory& operator=(const LiveMemory&) = delete;

  std::int64_t bytes() const { return kokkos_events().live_bytes; }
  std::int64_t peak_bytes() const { return kokkos_events().peak_bytes; }
};

/// Collects the labels of all kernels and allocations while it lives.
class CollectLabels {
 public:
  CollectLabels() {
    kokkos_events().kernels.clear();
    kokkos_events().views.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(detail::on_allocate);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(detail::on_kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(detail::on_kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(detail::on_kernel);
  }
  ~CollectLabels() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(nullptr);
  }
  CollectLabels(const CollectLabels&) = delete;
  CollectLabels& operator=(const CollectLabels&) = delete;

  const std::vector<std::string>& kernels() const { return kokkos_events().kernels; }
  const std::vector<std::string>& views() const { return kokkos_events().views; }
};

}  // namespace kolam::test
