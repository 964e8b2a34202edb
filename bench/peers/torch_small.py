"""784-128-10 in PyTorch, eager. Usage: torch_small.py BATCH [PROCESSES]"""

import os
import sys

import torch
import torch.nn.functional as F

import workload

batch = int(sys.argv[1])
processes = int(sys.argv[2]) if len(sys.argv) > 2 else 1


def run(rank=0, ranks=1):
    images, labels = (torch.from_numpy(a) for a in workload.images_and_labels("train"))
    test_images, test_labels = (torch.from_numpy(a) for a in workload.images_and_labels("t10k"))
    labels = labels.long()
    w1, b1, w2, b2 = workload.small_start()
    model = torch.nn.Sequential(
        torch.nn.Linear(784, workload.SMALL["hidden"]), torch.nn.ReLU(), torch.nn.Linear(workload.SMALL["hidden"], 10)
    )
    with torch.no_grad():
        model[0].weight.copy_(torch.from_numpy(w1.T))
        model[0].bias.copy_(torch.from_numpy(b1))
        model[2].weight.copy_(torch.from_numpy(w2.T))
        model[2].bias.copy_(torch.from_numpy(b2))
    trained = torch.nn.parallel.DistributedDataParallel(model) if ranks > 1 else model
    optimizer = torch.optim.Adam(model.parameters(), lr=workload.SMALL["learning_rate"])
    generator = torch.Generator().manual_seed(1)
    share = batch // ranks

    def step(rows):
        mine = rows[rank * share : (rank + 1) * share]
        optimizer.zero_grad()
        F.cross_entropy(trained(images[mine]), labels[mine]).backward()
        optimizer.step()

    def train_epoch(epoch):
        order = torch.randperm(60000, generator=generator)
        for begin in range(0, 60000 - batch + 1, batch):
            step(order[begin : begin + batch])

    def accuracy():
        with torch.no_grad():
            return (model(test_images).argmax(1) == test_labels).float().mean()

    figures = workload.measure_epochs(train_epoch, accuracy, lambda: step(torch.arange(batch)))
    if rank == 0:
        workload.report(f"PyTorch {torch.__version__}", figures)


def process(rank, ranks):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29518")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    run(rank, ranks)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    if processes > 1:
        torch.multiprocessing.spawn(process, args=(processes,), nprocs=processes)
    else:
        torch.set_num_threads(2)
        run()
