"""Reads a file with Python's own safetensors package, to compare with what kolam wrote.

Usage: read_with_python.py FILE. Prints one line per tensor: name dtype shape sum. Needs the
packages safetensors and numpy.
"""

import sys

from safetensors.numpy import load_file


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FILE", file=sys.stderr)
        return 2
    for name, tensor in sorted(load_file(sys.argv[1]).items()):
        print(name, tensor.dtype, list(tensor.shape), tensor.sum())
    return 0


if __name__ == "__main__":
    sys.exit(main())
