"""784-128-10 with Keras' fit. Usage: keras_small.py BATCH [mirrored]"""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

import workload

batch = int(sys.argv[1])
if len(sys.argv) > 2:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
else:
    strategy = tf.distribute.get_strategy()

images, labels = workload.images_and_labels("train")
test_images, test_labels = workload.images_and_labels("t10k")
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Input((784,)), tf.keras.layers.Dense(workload.SMALL["hidden"], "relu", kernel_initializer="he_normal"),
         tf.keras.layers.Dense(10)]
    )
    model.compile(
        optimizer=tf.keras.optimizers.Adam(workload.SMALL["learning_rate"]),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

workload.report(
    f"TensorFlow {tf.__version__}",
    workload.measure_epochs(
        lambda epoch: model.fit(images, labels, batch_size=batch, epochs=1, verbose=0),
        lambda: model.evaluate(test_images, test_labels, verbose=0)[1],
        lambda: model.fit(images[:batch], labels[:batch], batch_size=batch, epochs=1, verbose=0),
    ),
)
