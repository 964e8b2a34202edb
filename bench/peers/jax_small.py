"""784-128-10 in JAX, one jitted step per batch. Usage: jax_small.py BATCH [DEVICES]"""

import os
import sys

batch = int(sys.argv[1])
devices = int(sys.argv[2]) if len(sys.argv) > 2 else 1
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import workload

optimizer = optax.adam(workload.SMALL["learning_rate"])
mesh = Mesh(jax.devices(), ("data",))
split = NamedSharding(mesh, P("data"))
replicated = NamedSharding(mesh, P())


def logits_of(parameters, images):
    w1, b1, w2, b2 = parameters
    return jax.nn.relu(images @ w1 + b1) @ w2 + b2


def loss_of(parameters, images, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits_of(parameters, images), labels).mean()


@partial(jax.jit, donate_argnums=(0, 1))
def update(parameters, state, images, labels):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, images, labels)
    changes, state = optimizer.update(gradients, state, parameters)
    return optax.apply_updates(parameters, changes), state, loss


images, labels = workload.images_and_labels("train")
test_images, test_labels = workload.images_and_labels("t10k")
parameters = jax.device_put(workload.small_start(), replicated)
state = jax.device_put(optimizer.init(parameters), replicated)
random = np.random.default_rng(1)


def put(array):
    return array if devices == 1 else jax.device_put(array, split)


def first_step():
    global parameters, state
    parameters, state, loss = update(parameters, state, put(images[:batch]), put(labels[:batch]))
    loss.block_until_ready()


def train_epoch(epoch):
    global parameters, state
    order = random.permutation(60000)
    for begin in range(0, 60000 - batch + 1, batch):
        rows = order[begin : begin + batch]
        parameters, state, loss = update(parameters, state, put(images[rows]), put(labels[rows]))
        if devices > 1:
            # With steps in flight, two devices on two cores end in XLA's rendezvous time-out.
            loss.block_until_ready()
    loss.block_until_ready()


def accuracy():
    return jnp.mean(jnp.argmax(logits_of(parameters, test_images), 1) == test_labels)


workload.report(f"JAX {jax.__version__}", workload.measure_epochs(train_epoch, accuracy, first_step))
