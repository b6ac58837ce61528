"""Writes the operators of a step, as recorded by PyTorch's profiler: a Chrome trace for `ddl-oracle profile import`, or a table
for people."""

import csv
import json

import torch


def profiled(training, path, steps):
    """Profiles `steps` steps and writes a Chrome trace (.json), or a table of operators by shape (.csv), to `path`."""
    from torch.profiler import ProfilerActivity, profile, record_function

    activities = [ProfilerActivity.CPU]
    if training.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities, record_shapes=True) as profiler:
        # The first step under the profiler includes its start-up and is not marked.
        for number in range(steps + 1):
            with record_function(f"ProfilerStep#{number}" if number > 0 else "warm-up"):
                training.step()
                if training.device.type == "cuda":
                    torch.cuda.synchronize()
    if path.endswith(".csv"):
        write_operators(profiler.events(), path, steps)
    elif torch.profiler.kineto_available():
        profiler.export_chrome_trace(path)
    else:
        write_trace(profiler.events(), path)


def self_device_time(event):
    for name in ("self_device_time_total", "self_cuda_time_total"):
        if hasattr(event, name):
            return getattr(event, name)
    return 0


def is_step(event):
    return event.name.startswith("ProfilerStep")  # PyTorch may replace the number after ProfilerStep by '*'


def write_operators(events, path, steps):
    begin = min(event.time_range.start for event in events if is_step(event))
    sums = {}
    for event in events:
        # Device activities are separate events. Their time is also part of the operators that launched them.
        of_processor = getattr(event, "device_type", None) in (None, torch.autograd.DeviceType.CPU)
        if event.time_range.start >= begin and of_processor and not is_step(event):
            total = sums.setdefault((event.name, json.dumps(event.input_shapes)), [0, 0.0, 0.0])
            total[0] += 1
            total[1] += event.self_cpu_time_total
            total[2] += self_device_time(event)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["operator", "shapes", "calls", "self_cpu_us", "self_device_us"])
        for (name, shapes), total in sorted(sums.items(), key=lambda each: -max(each[1][1:])):
            table.writerow([name, shapes] + [round(value / steps, 3) for value in total])


def write_trace(events, path):
    """Writes the trace in Kineto's format, for a PyTorch that was built without Kineto (such as Debian's)."""
    entries, steps = [], 0
    for event in sorted(events, key=lambda event: event.time_range.start):
        steps += is_step(event)
        arguments = {"External id": event.id}
        if event.input_shapes:
            arguments["Input Dims"] = event.input_shapes
        if event.sequence_nr >= 0:
            arguments["Sequence number"] = event.sequence_nr
            arguments["Fwd thread id"] = event.fwd_thread or 0
        entries.append(
            {
                "ph": "X",
                "cat": "user_annotation" if is_step(event) else "cpu_op",
                "name": f"ProfilerStep#{steps}" if is_step(event) else event.name,
                "pid": "processor",
                "tid": event.thread,
                "ts": event.time_range.start,
                "dur": event.time_range.end - event.time_range.start,
                "args": arguments,
            }
        )
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": entries}, file)

