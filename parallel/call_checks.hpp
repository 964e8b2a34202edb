/// \file
/// What one rank can see to be wrong with its own call, before it meets the others.
#pragma once

#include <kolam/parallel/communicator.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace kolam::collective {

/// \throws ConfigurationError with the label and what is wrong.
[[noreturn]] void refuse(const CollectiveId& id, std::string_view what);

/// \throws ShapeError for a negative count or too many bytes, ConfigurationError for no memory.
void check_memory(const CollectiveId& id, const void* data, ScalarType type, std::int64_t count);

/// Two buffers of which `larger` holds one block of the other's size for each member.
void check_pair(const CollectiveId& id, int members, ScalarType type, ScalarType other_type,
                std::int64_t block, std::int64_t larger);

/// A block may be this rank's own part of the larger buffer, and may not overlap it otherwise.
void check_overlap(const CollectiveId& id, const void* block, const void* larger,
                   std::int64_t bytes, int index, int members);

/// \throws ConfigurationError for a mean of integers.
void check_reduction(const CollectiveId& id, ReduceOperation operation, ScalarType type);

/// \throws ConfigurationError if a route leaves the group or uses a rank twice.
void check_routes(const CollectiveId& id, std::span<const Route> routes, int members);

/// \throws ConfigurationError if an axis is named twice.
void check_axes(const CollectiveId& id);

/// Whether two blocks of memory share bytes.
bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes);

}  // namespace kolam::collective
