#include <kolam/parallel/in_process/rendezvous.hpp>

#include <thread>

namespace kolam::in_process {

namespace {

constexpr int generation_shift = 16;
constexpr std::uint64_t one_generation = std::uint64_t{1} << generation_shift;
constexpr std::uint64_t arrived_mask = one_generation - 1;
constexpr std::uint64_t broken_bit = std::uint64_t{1} << 63;

static_assert(static_cast<std::uint64_t>(Rendezvous::max_members) <= arrived_mask);

constexpr std::uint64_t generation_of(std::uint64_t word) {
  return (word & ~broken_bit) >> generation_shift;
}

/// Tells the processor that this is a busy wait.
void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#else
  std::this_thread::yield();
#endif
}

}  // namespace

// All operations on the word are sequentially consistent: a member that blocks first announces
// itself and then looks at the generation, the last one to arrive changes the generation and then
// looks for members that blocked. With anything weaker both could miss each other.

Rendezvous::Arrival Rendezvous::arrive() noexcept {
  std::uint64_t word = word_.load();
  while (true) {
    if ((word & broken_bit) != 0) return {generation_of(word), false, true};
    const bool is_last = (word & arrived_mask) + 1 == members_;
    const std::uint64_t next = is_last ? (word & ~arrived_mask) + one_generation : word + 1;
    if (word_.compare_exchange_weak(word, next)) return {generation_of(word), is_last, false};
  }
}

std::uint64_t Rendezvous::generation() const noexcept {
  return generation_of(word_.load());
}

bool Rendezvous::break_in(std::uint64_t generation) noexcept {
  std::uint64_t word = word_.load();
  while (true) {
    if (generation_of(word) != generation) return false;
    if ((word & broken_bit) != 0) return true;
    if (word_.compare_exchange_weak(word, word | broken_bit)) return true;
  }
}

bool Rendezvous::spin(std::uint64_t generation, std::chrono::microseconds duration) const noexcept {
  constexpr int looks_per_clock_reading = 32;
  if (duration.count() <= 0) return this->generation() != generation;
  const auto end = std::chrono::steady_clock::now() + duration;
  do {
    for (int i = 0; i < looks_per_clock_reading; ++i) {
      if (this->generation() != generation) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace kolam::in_process
