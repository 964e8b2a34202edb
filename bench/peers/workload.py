"""What all peers share: the data, the sizes, and the one line that each run prints."""

import gzip
import json
import os
import statistics
import sys
import time

import numpy as np

DATA = os.environ.get("PEERS_DATA", "/usr/share/datasets/fashion-mnist")

CODELAB = dict(width=1024, repeats=128, mix=0.10, batch=1024, learning_rate=3e-4, decay=1e-4)
SMALL = dict(hidden=128, learning_rate=1e-3, epochs=5)


def idx(name):
    with gzip.open(os.path.join(DATA, name + ".gz"), "rb") as file:
        raw = file.read()
    dimensions = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(dimensions)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def images_and_labels(split):
    images = idx(split + "-images-idx3-ubyte")
    return (
        (images.reshape(len(images), -1) / np.float32(255)).astype(np.float32),
        idx(split + "-labels-idx1-ubyte").astype(np.int32),
    )


def codelab_start(seed=1):
    """The six parameters of the shared-block MLP."""
    random = np.random.default_rng(seed)
    width = CODELAB["width"]

    def weight(rows, columns):
        return (random.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)

    return dict(
        w_in=weight(784, width),
        b_in=np.zeros(width, np.float32),
        w_block=weight(width, width),
        b_block=np.zeros(width, np.float32),
        w_out=weight(width, 10),
        b_out=np.zeros(10, np.float32),
    )


def small_start(seed=1):
    random = np.random.default_rng(seed)

    def weight(rows, columns):
        return (random.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)

    hidden = SMALL["hidden"]
    return [weight(784, hidden), np.zeros(hidden, np.float32), weight(hidden, 10), np.zeros(10, np.float32)]


def since_start():
    """Seconds since the process was started, which the caller noted."""
    return time.time() - float(os.environ["PEERS_STARTED"])


def measure_steps(step, steps=4):
    """Runs `step()` until it has returned once, then times `steps` of them; the median counts."""
    step()
    first = since_start()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    seconds = statistics.median(times)
    return dict(
        ms_per_step=1000 * seconds,
        examples_per_second=CODELAB["batch"] / seconds,
        first_step_seconds=first,
    )


def measure_epochs(train_epoch, accuracy, first_step):
    """Trains five epochs after one first step; an epoch's time is the median of all but the first."""
    first_step()
    first = since_start()
    times = []
    for epoch in range(SMALL["epochs"]):
        begin = time.perf_counter()
        train_epoch(epoch)
        times.append(time.perf_counter() - begin)
    seconds = statistics.median(times[1:])
    return dict(
        epoch_seconds=seconds,
        examples_per_second=60000 / seconds,
        first_step_seconds=first,
        accuracy=float(accuracy()),
    )


def report(version, figures):
    print(json.dumps(dict(version=version, **figures)))
    sys.stdout.flush()
