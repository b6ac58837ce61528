#!/usr/bin/env python3
"""Times training steps of a model of this project in eager PyTorch, to compare with predictions, and the operators of a step.

    ddl-oracle models show resnet50 --format json | python3 step_time.py - --batch 4 --threads 1
    python3 step_time.py gpt2.json --device cuda --precision bf16 --optimizer adam --batch 8 --phases
    python3 step_time.py vgg16.json --batch 2 --json >steps.json    # for `ddl-oracle profile import`, as is
    python3 step_time.py vgg16.json --batch 2 --layers trace.json   # the same

It is not installed with the program and needs nothing but PyTorch (1.13 or newer; on Debian, python3-torch) and the files step_*.py next to
it. The model is what `models show --format json` says of it: every layer becomes a module as its reference implementation writes it in
eager mode. Data and labels are random and stay on the device. Before anything is timed, the number of parameters and the shape that every
layer makes are compared with the file.

A step is zero_grad(set_to_none=True), forward, loss, backward and the optimizer's step. On a GPU, steps are timed by events on the stream,
with at most two steps queued ahead, as a training loop runs that waits for nothing.

Ends with 0; 1 where the model or the machine cannot do it, with the reason; 2 where an option is wrong; 3 where the device's memory ran out.
"""

import argparse
import inspect
import json
import math
import os
import statistics
import sys
import time

try:
    import torch
except ImportError as error:
    sys.exit(f"error: {error}\nhint: install PyTorch; on Debian: apt-get install python3-torch libopenblas0-pthread")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import step_modules
    from step_network import Network, Refusal, check_parameters, check_shape
    from step_operators import profiled
except ImportError as error:
    sys.exit(f"error: {error}\nhint: step_modules.py, step_network.py and step_operators.py belong in the folder of step_time.py")

memory_ran_out = 3


# ---- steps and their times ----


phases = ("forward", "backward", "update")


class Clock:
    """Marks between the phases of steps: times of the processor, or events on the GPU's stream."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self, mark):
        if self.cuda:
            mark.synchronize()

    def seconds(self, first, last):
        return first.elapsed_time(last) / 1e3 if self.cuda else last - first


def make_optimizer(options, network):
    """By PyTorch's own choice of implementation, or that of the options: one kernel or pass for lists of tensors (foreach), one for all that
    is done to them (fused), or all tensors one after the other (single)."""
    kind = torch.optim.Adam if options.optimizer == "adam" else torch.optim.SGD
    arguments = {"lr": 1e-5} if options.optimizer == "adam" else {"lr": 1e-4}
    if options.optimizer == "momentum":
        arguments["momentum"] = 0.9
    implementation = getattr(options, "optimizer_implementation", "default")
    if implementation != "default":
        arguments["foreach"] = implementation == "foreach"
    known = inspect.signature(kind.__init__).parameters
    if implementation == "fused":
        arguments["fused"] = True
    if getattr(options, "graph", False) and options.optimizer == "adam":
        arguments["capturable"] = True  # its step count has to be on the device
    for name in arguments:
        if name not in known:
            raise Refusal(f"{kind.__name__} of PyTorch {torch.__version__} has no '{name}'; leave --optimizer-implementation out")
    return kind(network.parameters(), **arguments)


class Training:
    """Steps of a network on one batch, which Network.batch makes. Of the options it needs precision and optimizer;
    optimizer_implementation and graph may be left out."""

    def __init__(self, network, batch, options, device):
        self.network, self.batch, self.device = network, batch, device
        self.clock = Clock(device)
        self.precision = options.precision
        self.optimizer = make_optimizer(options, network)
        # Gradients of fp16 are scaled, as in PyTorch's mixed precision.
        self.scaler = self.new_scaler() if options.precision == "fp16" else None
        self.graphs = None

    @staticmethod
    def new_scaler():
        # PyTorch 2.3 moved it.
        return torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()

    def forward(self, check=None):
        if self.precision in ("fp16", "bf16"):
            kind = torch.float16 if self.precision == "fp16" else torch.bfloat16
            with torch.autocast(self.device.type, dtype=kind):
                return self.network(self.batch, check)
        return self.network(self.batch, check)

    def backward(self, loss):
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def update(self):
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, check=None):
        """Marks before forward, before backward, before the update, and behind it."""
        marks = [self.clock.mark()]
        if self.graphs is not None:
            for graph in self.graphs:
                graph.replay()
                marks.append(self.clock.mark())
            return marks
        loss = self.forward(check)
        marks.append(self.clock.mark())
        self.backward(loss)
        marks.append(self.clock.mark())
        self.update()
        marks.append(self.clock.mark())
        return marks

    def capture(self, warm_up):
        """Makes CUDA graphs of the step, one for each of its parts, which share a pool of memory and are replayed one behind another: as one
        graph of all, but that events fit between them."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            # Initial algorithm choices and allocations of libraries, autograd's streams, the optimizer state.
            for _ in range(max(3, warm_up)):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graphs = [torch.cuda.CUDAGraph() for _ in phases]
        kept = []
        parts = (lambda: kept.append(self.forward()), lambda: self.backward(kept[0]), self.update)
        for graph, part in zip(graphs, parts):
            with torch.cuda.graph(graph, pool=None if graph is graphs[0] else graphs[0].pool()):
                part()
        self.loss = kept[0]
        self.graphs = graphs


def take_samples(training, warm_up, steps, seconds):
    """Seconds of the phases of each step; the step is their sum."""
    for _ in range(warm_up):
        training.clock.wait(training.step()[-1])
    begin = time.perf_counter()
    marks = []
    while len(marks) < steps and (len(marks) < 6 or time.perf_counter() - begin < seconds):
        marks.append(training.step())
        if len(marks) > 2:
            training.clock.wait(marks[-3][-1])
    training.clock.wait(marks[-1][-1])
    clock = training.clock
    # On a GPU a step ends where the next one starts; the last has no next.
    ends = [step[0] for step in marks[1:]] + [marks[-1][-1]]
    result = []
    for step, end in zip(marks, ends):
        places = step[:3] + [end if clock.cuda else step[3]]
        result.append([clock.seconds(a, b) for a, b in zip(places, places[1:])])
    return result


def median_interval(values, confidence=0.95):
    """Of the median, by order statistics (Conover, "Practical nonparametric statistics", section 3.2); all of them if they are too few."""
    n = len(values)
    tail, below = 0, 0.0
    while tail < n // 2:
        below += math.comb(n, tail) * 0.5**n
        if below > (1 - confidence) / 2:
            break
        tail += 1
    ordered = sorted(values)
    first = max(0, tail - 1)
    return ordered[first], ordered[n - 1 - first]


def summary(values):
    median = statistics.median(values)
    low, high = median_interval(values)
    return {
        "samples_s": values,
        "median_s": median,
        "mad_s": statistics.median(abs(value - median) for value in values),
        "low_s": low,
        "high_s": high,
    }


# ---- the command line ----


def processor_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "cpu"


def keeps_memory():
    """Whether freed memory stays with the process: glibc maps large blocks anew unless it is told not to (mallopt(3)); other allocators,
    which are preloaded, keep it."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    maps = os.environ.get("MALLOC_MMAP_MAX_") != "0" and "glibc.malloc.mmap_max=0" not in os.environ.get("GLIBC_TUNABLES", "")
    return not maps or any(name in preloaded for name in ("jemalloc", "tcmalloc", "mimalloc"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="file that `ddl-oracle models show MODEL --format json` wrote, or - for the standard input")
    parser.add_argument("--batch", type=int, default=1, help="samples of a step (1)")
    parser.add_argument("--precision", choices=["fp32", "tf32", "fp16", "bf16"], default="fp32", help="fp16 and bf16 by autocast")
    parser.add_argument("--optimizer", choices=["sgd", "momentum", "adam"], default="sgd")
    parser.add_argument("--optimizer-implementation", choices=["default", "foreach", "fused", "single"], default="default",
                        help="of torch.optim (PyTorch's choice)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, help="of the processor (PyTorch's choice)")
    parser.add_argument("--channels-last", action="store_true", help="images with their channels last in memory")
    parser.add_argument("--benchmark", action="store_true", help="torch.backends.cudnn.benchmark")
    parser.add_argument("--graph", action="store_true",
                        help="capture the step in CUDA graphs and time their replay; needs --device cuda")
    parser.add_argument("--sparse-tables", action="store_true",
                        help="tables of recommendation models have gradients of the rows that were read alone, as DLRM trains them")
    parser.add_argument("--gelu", choices=["none", "tanh", "composed"], default="none",
                        help="approximation: none, tanh, or tanh operator by operator as GPT-2 of transformers has it (none)")
    parser.add_argument("--warm-up", type=int, default=3, metavar="STEPS", help="that do not count (3)")
    parser.add_argument("--steps", type=int, default=50, help="at most (50)")
    parser.add_argument("--seconds", type=float, default=60, help="at most, though at least 6 steps (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phases", action="store_true", help="forward, backward and update apart; --json has them")
    parser.add_argument("--layers", metavar="FILE", help="operators of a step: a table (.csv) or a Chrome trace (.json); nothing is timed")
    parser.add_argument("--layer-steps", type=int, default=3, metavar="STEPS", help="of --layers (3)")
    parser.add_argument("--check", action="store_true", 
                        help="only compare the model with the file; from PyTorch 2.0 on without its memory, whatever its size")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for `ddl-oracle profile import`")
    options = parser.parse_args()
    for name in ("batch", "steps", "layer_steps"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    if options.threads is not None and options.threads < 1:
        parser.error("--threads is at least 1")
    if options.warm_up < 0 or not options.seconds >= 0:
        parser.error("--warm-up and --seconds are at least 0")
    if options.device == "cpu" and options.precision in ("tf32", "fp16"):
        parser.error(f"{options.precision} needs --device cuda")
    if options.graph and options.device != "cuda":
        parser.error("--graph needs --device cuda: a processor has no CUDA graphs")
    if options.graph and options.layers:
        parser.error("--layers shows operators, which a graph has none of: leave --graph or --layers out")
    if options.graph and options.precision == "fp16" and options.optimizer_implementation != "fused":
        # The gradient scaler asks the device whether to step; a fused optimizer does this on the device.
        parser.error("--graph with fp16 needs --optimizer-implementation fused")
    if options.sparse_tables and (options.optimizer != "sgd" or options.graph or options.optimizer_implementation != "default"):
        parser.error("--sparse-tables is for --optimizer sgd, by PyTorch's choice of implementation, without --graph")
    if options.layers and not options.layers.endswith((".json", ".csv")):
        parser.error("--layers takes a name that ends in .json or .csv")
    return options


layer_keys = ("name", "operation", "attributes", "inputs", "input_shapes", "output", "parameters")


def read_model(path):
    try:
        if path == "-":
            file = json.load(sys.stdin)
        else:
            with open(path) as stream:
                file = json.load(stream)
        if not isinstance(file, dict):
            raise ValueError("not the JSON of a model")
        for key, kind in (("name", str), ("input", list), ("parameters", int), ("layers", list)):
            if key not in file:
                raise ValueError(f"it has no '{key}'")
            if not isinstance(file[key], kind):
                raise ValueError(f"'{key}' is not what a model has")
        for layer in file["layers"]:
            if not isinstance(layer, dict) or any(key not in layer for key in layer_keys):
                raise ValueError(f"a layer without one of {', '.join(layer_keys)}")
        return file
    except (OSError, ValueError, RecursionError) as error:
        raise Refusal(f"{path}: {error}; write it with: ddl-oracle models show MODEL --format json") from None


def set_up(options):
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise Refusal("PyTorch finds no CUDA device")
    if options.precision in ("fp32", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    torch.backends.cudnn.benchmark = options.benchmark
    return torch.device(options.device)


def in_words(file, error):
    """What PyTorch said, with the model."""
    said = str(error).strip().splitlines()
    return f"{file['name']}: PyTorch: {said[0] if said else type(error).__name__}"


def is_out_of_memory(error):
    """Of the device, or of the processor's allocator. cuBLAS and cuDNN have words of their own for it."""
    kinds = tuple(kind for kind in (getattr(torch.cuda, "OutOfMemoryError", None), MemoryError) if kind is not None)
    words = ("out of memory", "not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    if isinstance(error, kinds) or any(word in str(error) for word in words):
        return True
    # A convolution without enough memory for its workspace.
    if "unable to find an engine" in str(error) and torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        return free < total / 10
    return False


def check(options, file):
    """Compares the model with the file without running it, where PyTorch can: on a device that only knows shapes."""
    torch.manual_seed(options.seed)
    device = torch.device("meta" if hasattr(torch, "set_default_device") else "cpu")
    if device.type == "meta":
        with device:
            network = Network(file, options.gelu)
            check_parameters(network)
            network.train()(network.batch(options.batch, device), check_shape(network, options.batch))
    else:
        network = Network(file, options.gelu).train()
        check_parameters(network)
        network(network.batch(options.batch, device), check_shape(network, options.batch))
    print(f"{file['name']}: {file['parameters']} parameters and {len(file['layers'])} shapes as in the file")


def refuse_what_would_mislead(options, network):
    """What runs, but is not what the options or the file say."""
    fused = [l["name"] for l in network.file["layers"] if l["operation"] == "attention" and "fused=yes" in l["attributes"].split()]
    if fused and not step_modules.has_fused_attention:
        raise Refusal(f"{fused[0]}: fused attention needs PyTorch 2.0 or newer; eager attention is that of {network.file['name']}@fused=no")
    routed = [l["name"] for l in network.file["layers"] if l["operation"] == "dispatch"]
    if options.graph and routed:
        raise Refusal(f"{routed[0]}: a CUDA graph cannot choose which expert sees a token: leave --graph out")


def put_channels_last(network, batch):
    """The batch, and parameters of as many dimensions."""
    layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
    dimensions = batch[0].dim()
    if dimensions not in layouts:
        kind = "images and volumes" if network.images else "images and volumes, and its samples are sequences or vectors"
        raise Refusal(f"--channels-last is for {kind}: leave it out")
    for module in network.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.dim() == dimensions:
                parameter.data = parameter.data.contiguous(memory_format=layouts[dimensions])
    return [x.contiguous(memory_format=layouts[dimensions]) if x.dim() == dimensions else x for x in batch]


def run(options, file):
    if options.check:
        check(options, file)
        return
    device = set_up(options)
    network = Network(file, options.gelu, options.sparse_tables)
    check_parameters(network)
    refuse_what_would_mislead(options, network)
    network.to(device).train()
    batch = network.batch(options.batch, device)
    if options.channels_last:
        batch = put_channels_last(network, batch)
    training = Training(network, batch, options, device)
    training.clock.wait(training.step(check_shape(network, options.batch))[-1])
    if options.layers:
        for _ in range(options.warm_up):
            training.step()
        profiled(training, options.layers, options.layer_steps)
        return
    if options.graph:
        training.capture(options.warm_up)

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    samples = take_samples(training, options.warm_up, options.steps, options.seconds)
    result = {
        "schema": 1,
        "model": file["name"],
        "batch": options.batch,
        "precision": options.precision,
        "optimizer": options.optimizer,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else processor_name(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "keeps_memory": device.type == "cuda" or keeps_memory(),
        "optimizer_implementation": options.optimizer_implementation,
        "graph": options.graph,
        "sparse_tables": options.sparse_tables,
        "channels_last": options.channels_last,
        "cudnn_benchmark": options.benchmark,
        "parameters": file["parameters"],
        "steps": len(samples),
        "step": summary([sum(sample) for sample in samples]),
    }
    if options.phases or options.json:
        for i, phase in enumerate(phases):
            result[phase] = summary([sample[i] for sample in samples])
    if device.type == "cuda":
        result["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{file['name']}, batch {options.batch}, {options.precision}, {options.optimizer}, {result['device']}, "
          f"PyTorch {torch.__version__}" + (", CUDA graphs" if options.graph else "") + ("" if device.type == "cuda" else f", threads {result['threads']}"))
    for name in ("step",) + (phases if options.phases else ()):
        s = result[name]
        print(f"{name:9} {s['median_s'] * 1e3:10.3f} ms  [{s['low_s'] * 1e3:.3f}, {s['high_s'] * 1e3:.3f}]  "
              f"MAD {s['mad_s'] * 1e3:.3f}")
    print(f"medians of {len(samples)} steps, with intervals of 95 %")


def main():
    options = parse_arguments()
    file = None
    try:
        file = read_model(options.model)
        run(options, file)
    except Refusal as refusal:
        sys.exit(f"error: {refusal}" if file is None else f"error: {file['name']}: {refusal}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        sys.exit(f"error: {error}")
    except (RuntimeError, ValueError, MemoryError, NotImplementedError) as error:
        if is_out_of_memory(error):
            print(f"error: {file['name']}: memory of the device ran out with a batch of {options.batch}", file=sys.stderr)
            sys.exit(memory_ran_out)
        # A norm of one value, an operator without a kernel for the precision.
        sys.exit(f"error: {in_words(file, error)}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
