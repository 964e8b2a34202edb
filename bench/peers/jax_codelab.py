"""The codelab step in JAX. Usage: jax_codelab.py 1|automatic|shard_map"""

import os
import sys

mode = sys.argv[1]
devices = 1 if mode == "1" else 2
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import workload

mix = workload.CODELAB["mix"]
mesh = Mesh(jax.devices(), ("data",))
optimizer = optax.adamw(workload.CODELAB["learning_rate"], weight_decay=workload.CODELAB["decay"])


def loss_of(parameters, images, labels):
    h = jax.nn.gelu(images @ parameters["w_in"] + parameters["b_in"])

    def block(h, _):
        update = jax.nn.gelu(h @ parameters["w_block"] + parameters["b_block"])
        return (1 - mix) * h + mix * update, None

    h, _ = jax.lax.scan(block, h, None, length=workload.CODELAB["repeats"])
    logits = h @ parameters["w_out"] + parameters["b_out"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def mapped_gradients(parameters, images, labels):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, images, labels)
    return jax.lax.pmean(loss, "data"), jax.lax.pmean(gradients, "data")


if mode == "shard_map":
    value_and_grad = jax.shard_map(
        mapped_gradients, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False
    )
else:
    value_and_grad = jax.value_and_grad(loss_of)


@partial(jax.jit, donate_argnums=(0, 1))
def update(parameters, state, images, labels):
    loss, gradients = value_and_grad(parameters, images, labels)
    changes, state = optimizer.update(gradients, state, parameters)
    return optax.apply_updates(parameters, changes), state, loss


batch = workload.CODELAB["batch"]
images, labels = workload.images_and_labels("train")
replicated = NamedSharding(mesh, P())
split = NamedSharding(mesh, P("data"))
parameters = jax.device_put(workload.codelab_start(), replicated)
state = jax.device_put(optimizer.init(parameters), replicated)
x = jax.device_put(images[:batch], split)
y = jax.device_put(labels[:batch], split)


def step():
    global parameters, state
    parameters, state, loss = update(parameters, state, x, y)
    loss.block_until_ready()


workload.report(f"JAX {jax.__version__}", workload.measure_steps(step))
