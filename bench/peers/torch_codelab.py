"""The codelab step in PyTorch. Usage: torch_codelab.py eager|compiled|ddp [THREADS]"""

import os
import sys

import torch
import torch.nn.functional as F

import workload

mode = sys.argv[1]
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
mix = workload.CODELAB["mix"]


class Block(torch.nn.Module):
    def forward(self, h, weight, bias):
        return (1 - mix) * h + mix * F.gelu(torch.addmm(bias, h, weight), approximate="tanh")


class Network(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        for name, value in workload.codelab_start().items():
            setattr(self, name, torch.nn.Parameter(torch.from_numpy(value)))
        self.block = block

    def forward(self, images):
        h = F.gelu(torch.addmm(self.b_in, images, self.w_in), approximate="tanh")
        for _ in range(workload.CODELAB["repeats"]):
            h = self.block(h, self.w_block, self.b_block)
        return torch.addmm(self.b_out, h, self.w_out)


def run(rank=0, ranks=1):
    images, labels = workload.images_and_labels("train")
    rows = workload.CODELAB["batch"] // ranks
    x = torch.from_numpy(images[rank * rows : (rank + 1) * rows].copy())
    y = torch.from_numpy(labels[rank * rows : (rank + 1) * rows].astype("int64"))
    block = Block()
    model = Network(torch.compile(block) if mode == "compiled" else block)
    trained = torch.nn.parallel.DistributedDataParallel(model) if ranks > 1 else model
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=workload.CODELAB["learning_rate"], weight_decay=workload.CODELAB["decay"]
    )

    def step():
        optimizer.zero_grad()
        F.cross_entropy(trained(x), y).backward()
        optimizer.step()

    figures = workload.measure_steps(step)
    if rank == 0:
        workload.report(f"PyTorch {torch.__version__}", figures)


def process(rank, ranks):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    run(rank, ranks)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    if mode == "ddp":
        torch.multiprocessing.spawn(process, args=(2,), nprocs=2)
    else:
        torch.set_num_threads(threads)
        run()
