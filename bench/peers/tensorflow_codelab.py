"""The codelab step in TensorFlow. Usage: tensorflow_codelab.py 1|mirrored"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

import workload

mode = sys.argv[1]
mix = workload.CODELAB["mix"]
if mode == "mirrored":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
else:
    strategy = tf.distribute.get_strategy()
replicas = strategy.num_replicas_in_sync
batch = workload.CODELAB["batch"]

with strategy.scope():
    v = {name: tf.Variable(value) for name, value in workload.codelab_start().items()}
    optimizer = tf.keras.optimizers.AdamW(workload.CODELAB["learning_rate"], weight_decay=workload.CODELAB["decay"])
    optimizer.build(list(v.values()))


def loss_of(images, labels):
    h = tf.nn.gelu(images @ v["w_in"] + v["b_in"], approximate=True)
    for _ in tf.range(workload.CODELAB["repeats"]):
        h = (1 - mix) * h + mix * tf.nn.gelu(h @ v["w_block"] + v["b_block"], approximate=True)
    logits = h @ v["w_out"] + v["b_out"]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_sum(losses) / batch


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(images, labels)
    optimizer.apply_gradients(zip(tape.gradient(loss, list(v.values())), v.values()))
    return loss


@tf.function
def train(images, labels):
    return strategy.reduce("sum", strategy.run(replica_step, (images, labels)), axis=None)


images, labels = workload.images_and_labels("train")
if replicas > 1:
    rows = batch // replicas
    x = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(images[c.replica_id_in_sync_group * rows :][:rows])
    )
    y = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(labels[c.replica_id_in_sync_group * rows :][:rows])
    )
else:
    x, y = tf.constant(images[:batch]), tf.constant(labels[:batch])

workload.report(f"TensorFlow {tf.__version__}", workload.measure_steps(lambda: float(train(x, y))))
