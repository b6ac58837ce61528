#!/usr/bin/env python3
"""Times training steps of a ddl-oracle model, and the operators of a step, in eager PyTorch.

    ddl-oracle models show resnet50 --format json | python3 step_time.py - --batch 4 --threads 1
    python3 step_time.py gpt2.json --device cuda --precision bf16 --optimizer adam --batch 8 --phases
    python3 step_time.py vgg16.json --batch 2 --json >steps.json    # input of `ddl-oracle profile import`
    python3 step_time.py vgg16.json --batch 2 --layers trace.json   # input of `ddl-oracle profile import`

This script is not installed with the program. It needs only PyTorch (1.13 or newer; on Debian, python3-torch) and the files
step_*.py in the same folder. The script builds the model from the JSON of `models show --format json`: every layer becomes a
module, as in the eager reference implementation of the model. Data and labels are random and stay on the device. Before timing,
the script compares the number of parameters and the output shape of every layer with the JSON.

A step is zero_grad(set_to_none=True), forward, loss, backward and the optimizer's step. On a GPU, events on the stream time the
steps. The host queues at most two steps ahead, like a training loop that never waits for the device.

Exit codes: 0 (success), 1 (the model or the machine cannot run the step; the reason is printed), 2 (wrong option), 3 (out of
device memory).
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
    """Makes marks between the phases of a step: host times in seconds, or events on the GPU's stream."""

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
    """The optimizer of `options`, with the implementation of `options` or, by default, PyTorch's choice. `foreach` runs each
    operator over lists of tensors, `fused` runs one kernel for the whole update, `single` updates one tensor at a time."""
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
        arguments["capturable"] = True  # CUDA graphs need the step count on the device
    for name in arguments:
        if name not in known:
            raise Refusal(f"{kind.__name__} of PyTorch {torch.__version__} has no '{name}'; leave --optimizer-implementation out")
    return kind(network.parameters(), **arguments)


class Training:
    """Runs steps of a network on one batch, made by Network.batch. `options` needs `precision` and `optimizer`;
    `optimizer_implementation` and `graph` are optional."""

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
        # PyTorch 2.3 moved GradScaler.
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
        """Runs a step. Returns four marks: before forward, before backward, before the update and after the update."""
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
        """Captures forward, backward and update of the step in one CUDA graph each. The graphs share a memory pool. Separate graphs leave
        room for events between the phases."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            # The first steps choose algorithms, allocate library memory, and create autograd's streams and the optimizer state.
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
    """Returns [forward, backward, update] in seconds for each step; the step time is the sum of the three."""
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
    # On a GPU, a step ends where the next step starts. The last step ends at its last mark.
    ends = [step[0] for step in marks[1:]] + [marks[-1][-1]]
    result = []
    for step, end in zip(marks, ends):
        places = step[:3] + [end if clock.cuda else step[3]]
        result.append([clock.seconds(a, b) for a, b in zip(places, places[1:])])
    return result


def median_interval(values, confidence=0.95):
    """Confidence interval (low, high) of the median by order statistics (Conover, "Practical nonparametric statistics", section
    3.2). For too few values, the interval is their whole range."""
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
    """Whether freed memory stays with the process. glibc returns large blocks to the system, unless environment variables forbid it
    (mallopt(3)); other preloaded allocators keep freed memory."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    maps = os.environ.get("MALLOC_MMAP_MAX_") != "0" and "glibc.malloc.mmap_max=0" not in os.environ.get("GLIBC_TUNABLES", "")
    return not maps or any(name in preloaded for name in ("jemalloc", "tcmalloc", "mimalloc"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="file that `ddl-oracle models show MODEL --format json` wrote, or - for the standard input")
    parser.add_argument("--batch", type=int, default=1, help="samples of a step (1)")
    parser.add_argument("--precision", choices=["fp32", "tf32", "fp16", "bf16"], default="fp32",
                        help="number format; fp16 and bf16 use autocast (fp32)")
    parser.add_argument("--optimizer", choices=["sgd", "momentum", "adam"], default="sgd")
    parser.add_argument("--optimizer-implementation", choices=["default", "foreach", "fused", "single"], default="default",
                        help="implementation in torch.optim (PyTorch's choice)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, help="threads of the processor (PyTorch's choice)")
    parser.add_argument("--channels-last", action="store_true", help="put the channels of images and volumes last in memory")
    parser.add_argument("--benchmark", action="store_true", help="set torch.backends.cudnn.benchmark: cuDNN tries algorithms")
    parser.add_argument("--graph", action="store_true",
                        help="capture the step in CUDA graphs and time their replay; needs --device cuda")
    parser.add_argument("--sparse-tables", action="store_true",
                        help="compute gradients only for the table rows that were read, as DLRM does")
    parser.add_argument("--gelu", choices=["none", "tanh", "composed"], default="none",
                        help="gelu: none (exact), tanh (approximation), or composed (approximation by single operators, as in "
                             "GPT-2 of transformers) (none)")
    parser.add_argument("--warm-up", type=int, default=3, metavar="STEPS", help="untimed steps at the beginning (3)")
    parser.add_argument("--steps", type=int, default=50, help="maximum number of timed steps (50)")
    parser.add_argument("--seconds", type=float, default=60, help="maximum time of timed steps in s; at least 6 steps run (60)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and data (0)")
    parser.add_argument("--phases", action="store_true", help="print forward, backward and update separately; --json always contains them")
    parser.add_argument("--layers", metavar="FILE",
                        help="write the operators of a step as a table (.csv) or a Chrome trace (.json), without timing steps")
    parser.add_argument("--layer-steps", type=int, default=3, metavar="STEPS", help="number of steps in the file of --layers (3)")
    parser.add_argument("--check", action="store_true", 
                        help="only compare parameters and shapes with the file; from PyTorch 2.0 on, without allocating the model")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, for `ddl-oracle profile import`")
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
        parser.error("--layers shows operators, but a replayed CUDA graph has none: leave --graph or --layers out")
    if options.graph and options.precision == "fp16" and options.optimizer_implementation != "fused":
        # The gradient scaler asks the device whether to step; a fused optimizer does this on the device.
        parser.error("--graph with fp16 needs --optimizer-implementation fused")
    if options.sparse_tables and (options.optimizer != "sgd" or options.graph or options.optimizer_implementation != "default"):
        parser.error("--sparse-tables is for --optimizer sgd, without --optimizer-implementation and --graph")
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
                raise ValueError(f"the file has no '{key}'")
            if not isinstance(file[key], kind):
                raise ValueError(f"'{key}' has the wrong type")
        for layer in file["layers"]:
            if not isinstance(layer, dict) or any(key not in layer for key in layer_keys):
                raise ValueError(f"a layer lacks one of the keys {', '.join(layer_keys)}")
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
    """The first line of PyTorch's error, after the name of the model."""
    said = str(error).strip().splitlines()
    return f"{file['name']}: PyTorch: {said[0] if said else type(error).__name__}"


def is_out_of_memory(error):
    """Whether the error means that the device or the host ran out of memory. cuBLAS and cuDNN have their own messages."""
    kinds = tuple(kind for kind in (getattr(torch.cuda, "OutOfMemoryError", None), MemoryError) if kind is not None)
    words = ("out of memory", "not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    if isinstance(error, kinds) or any(word in str(error) for word in words):
        return True
    # cuDNN reports this if memory is too small for a convolution's workspace.
    if "unable to find an engine" in str(error) and torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        return free < total / 10
    return False


def check(options, file):
    """Compares parameters and shapes with the file. From PyTorch 2.0 on, the meta device infers shapes without computing."""
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
    """Refuses combinations that would run, but not as the options or the file say."""
    fused = [l["name"] for l in network.file["layers"] if l["operation"] == "attention" and "fused=yes" in l["attributes"].split()]
    if fused and not step_modules.has_fused_attention:
        raise Refusal(f"{fused[0]}: fused attention needs PyTorch 2.0 or newer; for eager attention, use {network.file['name']}@fused=no")
    routed = [l["name"] for l in network.file["layers"] if l["operation"] == "dispatch"]
    if options.graph and routed:
        raise Refusal(f"{routed[0]}: a CUDA graph cannot choose which expert sees a token: leave --graph out")


def put_channels_last(network, batch):
    """Puts the channels of the batch, and of parameters with as many dimensions, last in memory. Returns the batch."""
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
        # For example a norm of one value, or an operator without a kernel for the precision.
        sys.exit(f"error: {in_words(file, error)}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
