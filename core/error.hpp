/// \file
/// One exception type per cause. A message says what was found, what was expected and what to do,
/// in one line. The library throws; it never prints and never ends the process.
#pragma once

#include <stdexcept>
#include <string>

namespace kolam {

/// Base of every exception that kolam throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Extents of two arrays, or of an array and a file, do not fit together.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A file or a data set is missing, damaged or not what it claims to be.
class DataError : public Error {
 public:
  using Error::Error;
};

/// A collective was not matched by every rank, timed out, or a rank ended before it.
class CommunicationError : public Error {
 public:
  using Error::Error;
};

/// An option, an environment variable, a mesh or a session was set up in a way that cannot work.
class ConfigurationError : public Error {
 public:
  using Error::Error;
};

/// A device's memory limit does not hold what was asked for.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace kolam
